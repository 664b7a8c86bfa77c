"""Random edits of the files of a tree, for scripts/compare-builds: edit(random, path, bytes, others).

Knows what the files look like (the guides in docs), not what a game makes of them: most edits are ones that a user could mean,
some are refused. The same random numbers and the same bytes give the same edit. Uses the standard library alone.
"""
import ast
import csv
import io
import struct
import zlib

import png

AMOUNTS = (1, 1, 1, 2, 5, 30, 400, 10**6)  # how many cells or pixels an edit changes, at most
NUMBERS = '0 0 1 2 3 7 15 16 40 63 64 100 128 200 254 255 256 1000 4095 32767 32768 65535 65536 -1 -2 -300'.split()
NAMES = ('base:air[default]', 'air', 'base:new_block[a=b]', 'default:new_node', 'Water', 'Air', 'Grass', 'Basalt',
         '#hole', 'sämtlich', 'a "b"', 'a,b', '\\x01', 'ignore', 'none', 'yes')
JUNK = ('', 'zzz', '1.5', '-0', '+1', '0x10', '1e5', 'nan', '-inf', '007', '99999999999999999999', '#', '\\', 'fff', '0.25')


def other_word(draw, word, alike):
    """A word for the place of this one; alike: draws a word from such a place."""
    kind, number = draw.random() * (0.8 if draw.calm else 1), word.lstrip('-').isdigit()
    if kind < 0.5:
        return alike()
    if kind < 0.6 and number:
        return draw.choice(('0', '255'))
    if kind < 0.8 and number:
        return str(abs(int(word) + draw.choice((-1, 1, 1, 5))))
    return draw.choice(NUMBERS if number and kind < 0.9 else NAMES if kind < 0.95 else JUNK)


# ---- texts ------------------------------------------------------------------------------------------


def row_of(line):
    return next(csv.reader([line]), [])


def line_of(row):
    out = io.StringIO()
    csv.writer(out, lineterminator='').writerow(row)
    return out.getvalue()


def cells_of_table(draw, lines):
    """Values of one column; all are the same, or each is another one."""
    width = len(row_of(lines[0]))
    column = draw.randrange(min(3, width - 1), width) if draw.calm or draw.random() < 0.97 else draw.randrange(width)
    rows = range(1, len(lines))

    def alike():
        return (row_of(lines[draw.choice(rows)]) + [''] * width)[column]
    one, value = draw.random() < 0.6, None
    count = min(draw.choice(AMOUNTS), len(rows))
    start = draw.randrange(len(rows) - count + 1)
    for at in (rows[start:start + count] if draw.random() < 0.5 else draw.sample(rows, count)):
        row = row_of(lines[at])
        if column < len(row):
            if value is None or not one:
                value = other_word(draw, row[column], alike)
            row[column] = value
            lines[at] = line_of(row)


def rows_of_table(draw, lines):
    """Lines for other voxels, mostly near ones; all other values are those of a line that is there."""
    for _ in range(draw.choice((1, 3, 50))):
        row = row_of(lines[draw.randrange(1, len(lines))])
        far = draw.choice((2, 2, 2, 5, 40)) if not draw.calm else 1
        for axis in range(min(3, len(row))):
            if row[axis].lstrip('-').isdigit():
                row[axis] = str(int(row[axis]) + draw.randint(-far, far))
        lines.append(line_of(row))


def columns_of_table(draw, lines):
    """The columns in another order, without one, or with one renamed."""
    order = list(range(len(row_of(lines[0]))))
    kind = draw.randrange(3)
    if kind == 0:
        draw.shuffle(order)
    elif kind == 1:
        order.pop(draw.randrange(len(order)))
    lines[:] = [line_of([row[i] for i in order if i < len(row)]) for row in map(row_of, lines)]
    if kind == 2:
        head = row_of(lines[0])
        head[-1] = draw.choice((head[-1].split('/')[0] + draw.choice(('/8', '/16', '/32', '/64', '/9')), 'color', 'zzz'))
        lines[0] = line_of(head)


def cells_of_grid(draw, lines):
    """Numbers behind the bar of rows."""
    rows = [i for i, line in enumerate(lines) if ' | ' in line]

    def alike():
        return draw.choice(lines[draw.choice(rows)].partition(' | ')[2].split() or ['0'])
    one, value = draw.random() < 0.6, None
    for _ in range(min(draw.choice(AMOUNTS), 3000)):
        at = draw.choice(rows)
        label, _, rest = lines[at].partition(' | ')
        words = rest.split() or ['0']
        i = draw.randrange(len(words))
        if value is None or not one:
            value = other_word(draw, words[i], alike)
        words[i] = value
        lines[at] = f'{label} | ' + ' '.join(words)


def rows_of_grid(draw, lines):
    """A row with one value, without label, too short, too long, missing, twice; or no rows, but `fill`."""
    rows = [i for i, line in enumerate(lines) if ' | ' in line]
    at = draw.choice(rows)
    label, _, rest = lines[at].partition(' | ')
    words = rest.split()
    kind = draw.randrange(5 if draw.calm else 8)
    if kind < 3:
        head = [line for line in lines[:rows[0]] if line]
        lines[:] = head + ['fill ' + other_word(draw, words[0], lambda: draw.choice(words))]
    elif kind < 5:
        lines[at] = f'{label} | ' + ' '.join(draw.choice(words) for _ in words[:1]) + (' ' + words[0]) * (len(words) - 1)
    elif kind == 5:
        lines[:] = [line.partition(' | ')[2] if ' | ' in line else line for line in lines]
    elif kind == 6:
        lines[at] = f'{label} | ' + ' '.join(words[1:] if draw.random() < 0.5 else words + words[:1])
    else:
        lines[at] = lines[draw.choice(rows)]


def words_of_lines(draw, lines):
    """One word of a line that is no row."""
    plain = [i for i, line in enumerate(lines) if ' | ' not in line and line] or [0]
    for _ in range(draw.choice((1, 1, 1, 4))):
        at = draw.choice(plain)
        words = lines[at].split(' ')
        i = draw.randrange(len(words)) if not draw.calm and draw.random() < 0.5 else len(words) - 1

        def alike(i=i):
            return (lines[draw.choice(plain)].split(' ') * (i + 1))[i]
        depth = words[0] == 'depth' and draw.random() < 0.9
        words[i] = draw.choice(('8', '16', '32', '64')) if depth else other_word(draw, words[i], alike)
        lines[at] = ' '.join(words)


def order_of_lines(draw, lines):
    """Lines fewer, twice, in another order, or one more."""
    kind = draw.randrange(8)
    if kind < 3 and lines:
        count = min(len(lines), draw.choice((1, 1, 5, 300)))
        start = draw.randrange(len(lines) - count + 1)
        del lines[start:start + count]
    elif kind == 3 and lines:
        lines.insert(draw.randrange(len(lines)), draw.choice(lines))
    elif kind == 4:
        lines[1:] = draw.sample(lines[1:], len(lines) - 1) if lines else []
    elif kind == 5:
        i, j = draw.randrange(len(lines)), draw.randrange(len(lines))
        lines[i], lines[j] = lines[j], lines[i]
    else:
        lines.insert(draw.randrange(len(lines) + 1), draw.choice(('', '# a comment', '#', 'palette 3 base:x', 'fill 0', 'x')))


def text(draw, data, others):
    content = data.decode('utf-8', 'surrogateescape')
    lines = content.split('\n')[:-1] if content.endswith('\n') else content.split('\n')
    if lines[0].startswith('x,y,z') and len(lines) > 1:
        kinds = [cells_of_table] * 9 + [rows_of_table] * 4 + [order_of_lines] * 2 + [columns_of_table] * (not draw.calm)
    elif any(' | ' in line for line in lines):
        kinds = [cells_of_grid] * 8 + [rows_of_grid] * 3 + [words_of_lines] * (2 if lines[0].startswith(('palette', 'depth')) else 1) + [order_of_lines] * (not draw.calm)
    else:
        kinds = [words_of_lines] * 3 + [order_of_lines] * (1 if draw.calm else 2)
    made = draw.choice(kinds)
    if made is order_of_lines and others and draw.random() < 0.3:
        lines += draw.choice(others).decode('utf-8', 'surrogateescape').split('\n')[:-1][:40]
    made(draw, lines)
    end = draw.choice(('\n',) * 30 + ('', '\r\n'))
    return made.__name__, (('\r\n' if end == '\r\n' else '\n').join(lines) + end).encode('utf-8', 'surrogateescape')


# ---- pictures, arrays, bytes ------------------------------------------------------------------------


def texts_of_picture(draw, parts):
    """Without its texts, or with another number in one."""
    texts = [i for i, (kind, _) in enumerate(parts) if kind == b'tEXt']
    if draw.random() < 0.5 or not texts:
        parts[:] = [p for p in parts if p[0] != b'tEXt']
    else:
        i = draw.choice(texts)
        parts[i] = (b'tEXt', parts[i][1] + draw.choice((b'0', b'1', b' ')))


def picture(draw, data):
    parts = list(png.parts(data))
    width, height, depth, colour = struct.unpack('>IIBB', parts[0][1][:10])
    size = depth // 8
    step = size * {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    rows = bytearray(zlib.decompress(b''.join(d for k, d in parts if k == b'IDAT')))
    kind = draw.random()
    if kind < 0.05:
        texts_of_picture(draw, parts)
    elif kind < 0.08:
        parts[0] = (b'IHDR', struct.pack('>IIBB', width, height - 1, depth, colour) + parts[0][1][10:])
        del rows[-(width * step + 1):]
    else:
        w, h = (min(draw.choice((1, 1, 2, 9, 70)), side) for side in (width, height))
        x0, y0 = (draw.choice((0, side - n, max(0, min(side - n, 64 - n // 2)), *[draw.randrange(side - n + 1)] * 3))
                  for side, n in ((width, w), (height, h)))
        from_x, from_y = draw.randrange(width), draw.randrange(height)
        white = 256**size - 1 if size == 1 or w * h == 1 else 511  # many columns of 65,535 voxels take half an hour
        change = draw.choice((0, 0, 0, -1, 1, 2, -3, 17, -40, 128, 150, 255, 255))  # 255: black becomes white, as in masks
        part = draw.randrange(step // size) * size
        for y in range(y0, y0 + h):
            for x in range(x0, x0 + w):
                at, source = ((j * (width * step + 1) + 1 + i * step + part) for i, j in ((x, y), (from_x, from_y)))
                value = 128 if change == 128 else int.from_bytes(rows[source if change == 0 else at:][:size], 'big') + change
                value = white - (value - change) if change == 255 else value
                rows[at:at + size] = min(max(value, 0), 256**size - 1).to_bytes(size, 'big')
    body = [p for p in parts if p[0] not in (b'IDAT', b'IEND')] + [(b'IDAT', zlib.compress(bytes(rows), 1)), (b'IEND', b'')]
    return 'picture', png.SIGNATURE + b''.join(png.part(*p) for p in body)


def array(draw, data):
    """data: an array with the lines of its palette behind it."""
    size = struct.unpack('<H', data[8:10])[0]
    head = data[:10 + size]
    info = ast.literal_eval(head[10:].decode())
    width, count = int(info['descr'][2:]), 1
    for side in info['shape']:
        count *= side
    body, tail = bytearray(data[10 + size:][:count * width]), data[10 + size + count * width:]
    kind = draw.random()
    if kind < 0.06:
        head = head.replace(*draw.choice(((b'False', b'True '), (b'<u2', b'<i2'), (b'|u1', b'|i1'), (b'(', b' '))))
    elif kind < 0.12:
        tail = draw.choice((b'', tail + b'%d base:new\n' % tail.count(b'\n'), tail[:len(tail) // 2]))
    if count:
        one, value = draw.random() < 0.6, None
        amount = min(draw.choice(AMOUNTS[:-1]), count)
        start = draw.randrange(count - amount + 1)
        for at in range(start, start + amount):
            if value is None or not one:
                i = draw.randrange(count) * width
                near = (int.from_bytes(body[i:i + width], 'little') + draw.choice((0, 0, 0, 0, 1, -1, 77))) % 256**width
                value = near.to_bytes(width, 'little')
            body[at * width:(at + 1) * width] = value
    return 'array', head + bytes(body) + tail


def stored(draw, data):
    out, kind = bytearray(data), draw.random()
    if kind < 0.6 and out:
        for _ in range(draw.choice((1, 1, 3))):
            out[draw.randrange(len(out))] = draw.randrange(256)
    elif kind < 0.8:
        del out[draw.randrange(len(out) + 1):]
    else:
        out += bytes(draw.randrange(256) for _ in range(3))
    return 'bytes', bytes(out)


def edit(draw, path, data, others, calm):
    """What was done, in a word, and other bytes for the file; others: what such files say elsewhere; calm: an edit that is
    mostly taken."""
    draw.calm = calm
    kind = draw.random() * (1 - 0.06 * calm) + 0.06 * calm
    if kind < 0.03:
        return 'same', data
    if kind < 0.06:
        return stored(draw, data)
    if others and kind < (0.7 if path.endswith('.bin') else 0.12):
        return 'another', draw.choice(others)
    try:
        if path.endswith('.png'):
            return picture(draw, data)
        if path.endswith('.npy'):
            return array(draw, data)
    except (ValueError, SyntaxError, struct.error, zlib.error, IndexError):
        return stored(draw, data)
    return stored(draw, data) if path.endswith('.bin') or not data else text(draw, data, others)
