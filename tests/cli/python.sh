#!/usr/bin/env bash
# terrainfs.py: arrays of a save in Python, in memory and over a mount; what was assigned is in the save.
. "$(dirname "$0")/lib.bash"

for NUMPY in python3 /usr/bin/python3 ''; do
    [ -z "$NUMPY" ] || ! "$NUMPY" -c 'import numpy' 2>/dev/null || break
done
[ -n "$NUMPY" ] || { echo '1..0 # skip NumPy is not installed'; exit 0; }

# python TITLE CODE: what `check` gets has to be true.
python() {
    TERRAINFS=$TFS PYTHONPATH=$ROOT/share PYTHONDONTWRITEBYTECODE=1 "$NUMPY" - <<EOF >out 2>err
import numpy as np
import terrainfs
def check(wanted):
    assert wanted
def says(f):
    try:
        f()
    except terrainfs.Error as e:
        return str(e)
def raises(f):
    try:
        f()
    except Exception as e:
        return e
def edit(open, f, save='save', **words):
    with open(save, **words) as t:
        f(t)
$2
EOF
    ok "$1"
}

region base --kind demo
cp base save
"$TOOLS/make_place" --kind xml --regions 2 place.rbxmx
"$TOOLS/make_ter" --version 9 --size 70 --seed 9 terrain.ter
"$TOOLS/make_voxel" block voxels.blk
"$TOOLS/make_world" --regions 1 --chunks 2 world
"$TOOLS/make_luanti" world map 6
for named in place.rbxmx terrain.ter; do
    "$TFS" cat $named palette.txt >$named.names
done
for how in open mount; do
    [ $how = open ] || [ -w /dev/fuse ] || continue
    python "$how: reads" "
with terrainfs.$how('save') as t:
    check(t.arrays == ['blocks', 'lights/sky', 'lights/block'] and t.names[0] == 'base:air')
    check(t.blocks.shape == t.shape and t.blocks.dtype == np.uint16 and len(t.origin) == 3)
    check(not hasattr(t, 'materials') and not hasattr(t, 'sky') and not hasattr(t.lights, 'blocks'))
    check(t.lights.sky is t['lights/sky'] and t.lights.block.dtype == np.uint16)
    check(isinstance(raises(lambda: t['lights']), KeyError))
    check(isinstance(raises(lambda: setattr(t, 'light', 0)), AttributeError))
    check(t.names[t.number(t.names[2])] == t.names[2])
with terrainfs.$how('save', 'r') as t:
    check(not t.blocks.flags.writeable and not t.lights.sky.flags.writeable)
check(isinstance(raises(lambda: edit(terrainfs.$how, lambda t: None, mode='w')), ValueError))"
    same save base "$how: reading leaves every byte"
    python "$how: writes" "
def f(t):
    t.blocks[0:2, 0:3, 0:4] = t.number(t.names[1])
    t.lights.sky[0:2, 0:3, 0:4] = 5
    t.lights.sky //= 2
edit(terrainfs.$how, f)
with terrainfs.$how('save') as t:
    check((t.blocks[0:2, 0:3, 0:4] == 1).all() and (t.lights.sky[0:2, 0:3, 0:4] == 2).all())"
    ! cmp -s save base
    ok "$how: the save has it"
    run 0 "$how: the save is whole" check save
    cp base save
    python "$how: a number without a name is refused with its place" "
def f(t):
    t.blocks[1, 2, 3] = 60000
check('[1,2,3] is 60000' in says(lambda: edit(terrainfs.$how, f)))"
    same save base "$how: nothing of it is in the save"
    python "$how: an array is assigned as a whole" "
def f(t):
    t.lights.block = t.lights.block
    t['lights/sky'] = t['lights/sky']
edit(terrainfs.$how, f)"
    same save base "$how: which changes nothing"
    python "$how: materials have names" "
for save, path in ('place.rbxmx', ''), ('place.rbxmx', 'regions/1'), ('terrain.ter', ''):
    with terrainfs.$how(save, 'r', path=path) as t:
        array = t['materials' if 'rbxmx' in save else 'layers']
        check(t.names == [line.rstrip('\n').partition(' ')[2] for line in open(f'{save}.names')] and len(t.names) > 2)
        check(all(t.number(name) == t.names.index(name) for name in t.names) and t.add(t.names[1]) == 1)
        check('no material called' in says(lambda: t.add('base:dirt')))
with terrainfs.$how('voxels.blk', 'r') as t:
    check(t.names is None and 'have no names' in says(lambda: t.number('x')))"
    cp -r map map.$how && cp place.rbxmx $how.rbxmx
    python "$how: what was assigned before the nodes and materials is kept" "
def luanti(t):
    f.box = np.s_[0:4, 0:5, 0:6]
    f.other = t.number('default:chest'), t.number('default:dirt')
    t.param2[f.box] = 5
    t.param1[f.box] = 0x34
    t.blocks[f.box] = np.where(t.blocks[f.box] == f.other[0], f.other[1], f.other[0])
def roblox(t):
    f.was = t.materials == 0
    f.places = tuple(n[:9] for n in np.nonzero(f.was))
    t.occupancy[f.places] = 77
    t.water[f.places] = 33
    t.materials[f.places] = 2
class f: pass
edit(terrainfs.$how, luanti, 'map.$how')
with terrainfs.$how('map.$how', 'r') as t:
    check(np.isin(t.blocks[f.box], f.other).all())
    check((t.param2[f.box] == 5).all() and (t.param1[f.box] == 0x34).all())
edit(terrainfs.$how, roblox, '$how.rbxmx')
with terrainfs.$how('$how.rbxmx', 'r') as t:
    check((t.materials[f.places] == 2).all() and (t.water[f.places] == 33).all())
    check((t.occupancy[f.places] == 77).all())"
    mkdir tmp
    TMPDIR=$PWD/tmp python "$how: a world says that its zone has to be named" "
check('zones/base/earth' in says(lambda: edit(terrainfs.$how, lambda t: None, 'world')))
check('no arrays in zones/base/mars/: ' in says(lambda: edit(terrainfs.$how, lambda t: None, 'world', path='zones/base/mars')))
edit(terrainfs.$how, lambda t: check(t.blocks.any()), 'world', path='zones/base/earth')"
    rmdir tmp
    ok "$how: and leaves no mount"
done
if [ -w /dev/fuse ]; then
    mkdir tmp
    TMPDIR=$PWD/tmp python 'an interrupt while the mount begins' "
run = terrainfs._run
def interrupted(*words):
    run(*words)
    if words[0] == '-o':
        raise KeyboardInterrupt
terrainfs._run = interrupted
try:
    edit(terrainfs.mount, lambda t: None)
    check(False)
except KeyboardInterrupt:
    pass
check('nothing' in says(lambda: edit(terrainfs.mount, lambda t: None, 'nothing')))"
    rmdir tmp
    ok 'leaves no mount'
    "$TFS" cat save palette.txt | "$TFS" put save palette.txt 2>err
    ok 'nor a lock on the save'
fi

python 'an exception in the block leaves the save alone' "
def f(t):
    t.blocks[0, 0, 0] = 1
    raise KeyError
try:
    edit(terrainfs.open, f)
    check(False)
except KeyError:
    pass"
same save base 'every byte of it'
python 'what came meanwhile stays, and names that came do not move the numbers' "
import subprocess, os
def f(t):
    t.blocks[0, 0, 0] = 2
    f.name = t.names[2]
    y, z, x = t.origin
    chunk = f'chunks/{x // 16}_{y // 16}_{z // 16}/voxels.csv'
    text = subprocess.run([os.environ['TERRAINFS'], 'cat', 'save', chunk], stdout=subprocess.PIPE, check=True).stdout
    text += f'{x + 1},{y},{z},aaa:first\n'.encode()
    subprocess.run([os.environ['TERRAINFS'], 'put', 'save', chunk], input=text, check=True)
edit(terrainfs.open, f)
with terrainfs.open('save') as t:
    check(t.names[t.blocks[0, 0, 0]] == f.name and t.names[t.blocks[0, 0, 1]] == 'aaa:first')"
cp base save
# Between what is read of the save and what is put another program edits it.
{ "$TFS" cat save chunks/0_1_0/voxels.csv; echo '3,31,5,aaa:first'; } >edited.csv
cat >between <<END
#!/bin/sh
if [ "\$1" = put ] && mkdir once 2>/dev/null; then
    "$TFS" put save chunks/0_1_0/voxels.csv <edited.csv
fi
exec "$TFS" "\$@"
END
chmod +x between
TFS=$PWD/between python 'what another program edits before an array is put stays' "
def f(t):
    t.blocks[0, 0, 0] = 2
    f.name = t.names[2]
edit(terrainfs.open, f)
with terrainfs.open('save') as t:
    check(t.names[t.blocks[0, 0, 0]] == f.name)"
"$TFS" cat save chunks/0_1_0/voxels.csv | grep -qx '3,31,5,aaa:first'
ok 'it is in the save'
cp base save
"$TFS" export -o views=raw save tree
mkdir moved && for chunk in tree/chunks/*; do
    IFS=_ read -r x y z <<<"${chunk##*/}"
    mv "$chunk" "moved/${x}_$((y + 5))_$z"
done
mv moved/* tree/chunks && cp save moved/save
run 0 'all chunks go up' import --delete tree moved/save
python 'a save whose chunks go elsewhere meanwhile is refused' "
import os
def f(t):
    t.blocks[0, 0, 0] = 2
    os.replace('moved/save', 'save')
check('other bounds' in says(lambda: edit(terrainfs.open, f)))
with terrainfs.open('save') as t, terrainfs.open('base') as before:
    check(t.origin[0] == before.origin[0] + 80 and (t.blocks == before.blocks).all())"
cp base save
python 'a name that comes before the array is read moves no number' "
import subprocess, os
with terrainfs.open('base') as t:
    y, z, x = t.origin
    names = t.names
    before = t.blocks.copy()
chunk = f'chunks/{x // 16}_{y // 16}_{z // 16}/voxels.csv'
text = subprocess.run([os.environ['TERRAINFS'], 'cat', 'save', chunk], stdout=subprocess.PIPE, check=True).stdout
with terrainfs.open('save', 'r+') as t:
    text += f'{x + 1},{y},{z},aaa:first\n'.encode()
    subprocess.run([os.environ['TERRAINFS'], 'put', 'save', chunk], input=text, check=True)
    check(t.blocks[0, 0, 1] == len(names) and t.names == names + ['aaa:first'])
    before[0, 0, 1] = len(names)
    check((t.blocks == before).all())
    t.blocks[0, 0, 2] = t.number('aaa:first')
with terrainfs.open('save') as t:
    check(t.names[t.blocks[0, 0, 2]] == 'aaa:first' and (t.blocks != 0).sum() == (before != 0).sum())"
cp base save
python 'only a name as palettes print it is added' "
bad = [' stone', 'stone ', '#stone', '\ufeffstone', 'new\nstone', 'new\tstone', 'new\x85stone', r'new\q', r'new\x41', r'new\xAB', r'new\xc3\xa9', 'new\udc80']
good = [r'\x20stone', r'stone\x20', r'\x23stone', r'\xef\xbb\xbfstone', r'new\nstone', r'new\x09stone', r'new\xc2\x85stone', r'new\\\\q', r'new\xab', 'new é #']
def f(t):
    names = list(t.names)
    for name in bad:
        check('is no name as palette.txt has it' in str(raises(lambda: t.add(name))) and isinstance(raises(lambda: t.add(name)), ValueError))
    check(t.names == names)
    t.blocks[0, 0, 0:len(good)] = [t.add(name) for name in good]
edit(terrainfs.open, f)
with terrainfs.open('save') as t:
    check([t.names[n] for n in t.blocks[0, 0, 0:len(good)]] == good)"
cp base save
python 'a name that the save lacks is added, whatever is in it' "
def f(t):
    check('no block called new:one' in says(lambda: t.number('new:one')))
    t.blocks[0, 0, 0:2] = t.add('new:one'), t.add('new:\u2028two')
edit(terrainfs.open, f)
with terrainfs.open('save') as t, terrainfs.open('base') as before:
    check([t.names[n] for n in t.blocks[0, 0, 0:2]] == ['new:one', 'new:\u2028two'])
    check(t.names[t.blocks[5, 5, 5]] == before.names[before.blocks[5, 5, 5]])"
region other --kind demo
cp other another
python 'blocks of another save are renumbered' "
with terrainfs.open('save') as a, terrainfs.open('another', 'r+') as b:
    b.blocks[2:10, 0:8, 0:8] = b.renumber(a.blocks[0:8, 0:8, 0:8], a.names)
with terrainfs.open('save') as a, terrainfs.open('another') as b:
    check([b.names[n] for n in b.blocks[2:10, 0:8, 0:8].flat] == [a.names[n] for n in a.blocks[0:8, 0:8, 0:8].flat])
    check('new:one' in b.names)
    check('900 is no number' in says(lambda: b.renumber(np.array([900]), a.names)))"
mkdir elsewhere
cp base ./-r
python 'the folder may change, and a save may be called -r' "
import os
def f(t):
    os.chdir('elsewhere')
    t.blocks[0, 0, 0] = 1
edit(terrainfs.open, f, '-r')
with terrainfs.open('../-r') as t:
    check(t.blocks[0, 0, 0] == 1)"
"$TOOLS/make_region" --version 3 --chunks 4 damaged
printf '\11' | dd of=damaged bs=1 seek=16420 conv=notrunc status=none # of the first chunk
cp damaged as_it_was
if [ -w /dev/fuse ]; then
    python 'mount: a save that is read-only can be read' "
with terrainfs.mount('damaged') as t:
    check(t.blocks.any() and isinstance(raises(lambda: setattr(t, 'blocks', 1)), ValueError))"
    cp base save
    python 'mount: a name that the save lacks has no number' "
with terrainfs.mount('save', 'r+') as t:
    n = len(t.names)
    check('terrainfs.open() adds' in says(lambda: t.add('aaa:first')))
    check(t.add(t.names[3]) == 3 and len(t.names) == n)"
fi
python 'an array that is kept can still be read' "
with terrainfs.mount('save') as t:
    kept = t.blocks
    first = int(kept[0, 0, 0])
check(kept[0, 0, 0] == first)"
python 'a save that is read-only can be read, and not written' "
edit(terrainfs.open, lambda t: check(t.blocks.any()), 'damaged')
check('damaged' in says(lambda: edit(terrainfs.open, lambda t: setattr(t, 'blocks', 1), 'damaged')))"
same damaged as_it_was 'every byte of it is there'
python 'a save that is none says so' "
check('nothing' in says(lambda: edit(terrainfs.open, lambda t: None, 'nothing')))"
TFS=/nowhere/terrainfs python 'a program that is not there is named' "
check('/nowhere/terrainfs' in says(lambda: edit(terrainfs.open, lambda t: None)))"
done_testing
