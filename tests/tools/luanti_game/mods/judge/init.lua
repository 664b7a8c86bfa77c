-- What the game itself says of a world, for tests: builds one, or prints what is in it.
--
-- judge.in in the world's folder has a command a line, which are done in order; what they print goes to
-- judge.out, and its last line is `done`. Boxes are X Y Z X Y Z, both corners inside.
--   build X Y Z       puts one of everything into the block whose corner that is
--   generate BOX      lets the map generator make what is not there
--   load BOX          loads what is there
--   nodes BOX         N X Y Z NAME PARAM1 PARAM2
--   meta BOX          M X Y Z KEY VALUE   I X Y Z LIST INDEX ITEM   T X Y Z TIMEOUT ELAPSED
--   objects BOX       O NAME X Y Z, after their blocks were made active
--   set X Y Z NAME    sets one node
--   touch X Y Z       sets a node to what it is, so that the game saves its block anew
--   light BOX         computes the light anew, as /fixlight does
--   wait FILE         goes on when that file is in the world's folder

local world = core.get_worldpath()
local out = assert(io.open(world .. "/judge.out", "w"))

local function node(name, more)
    more.description = name
    more.tiles = {}
    core.register_node("judge:" .. name, more)
end

node("stone", {})
node("dirt", {})
node("gold", {})
node("water", {drawtype = "airlike", paramtype = "light", sunlight_propagates = true})
node("stairs", {paramtype2 = "facedir", paramtype = "light"})
node("sign", {paramtype = "light"})
node("chest", {})
node("lamp", {paramtype = "light", light_source = 12})
node("clock", {on_timer = function() return false end})
core.register_entity("judge:thing", {
    initial_properties = {physical = false, static_save = true, pointable = false},
    on_activate = function(self, data) self.data = data end,
    get_staticdata = function(self) return self.data or "" end,
})
for _, name in ipairs({"stone", "dirt", "dirt_with_grass", "sand", "water_source", "river_water_source"}) do
    core.register_alias("mapgen_" .. name, name:find("water") and "judge:water" or
                        name == "stone" and "judge:stone" or "judge:dirt")
end

local function box(numbers)
    local n = {}
    for word in numbers:gmatch("%S+") do
        n[#n + 1] = tonumber(word)
    end
    return vector.new(n[1], n[2], n[3]), vector.new(n[4] or n[1], n[5] or n[2], n[6] or n[3])
end

local function each(low, high, what)
    for z = low.z, high.z do
        for y = low.y, high.y do
            for x = low.x, high.x do
                what(vector.new(x, y, z))
            end
        end
    end
end

local function say(kind, pos, ...)
    out:write(kind, " ", pos.x, " ", pos.y, " ", pos.z)
    for _, word in ipairs({...}) do
        out:write(" ", tostring(word))
    end
    out:write("\n")
end

local function sorted(t)
    local keys = {}
    for key in pairs(t) do
        keys[#keys + 1] = key
    end
    table.sort(keys)
    return ipairs(keys)
end

local function say_meta(pos)
    local meta, timer = core.get_meta(pos), core.get_node_timer(pos)
    local fields = meta:to_table().fields
    for _, key in sorted(fields) do
        say("M", pos, key, (fields[key]:gsub("\n", "\\n")))
    end
    local lists = meta:get_inventory():get_lists()
    for _, name in sorted(lists) do
        for i, stack in ipairs(lists[name]) do
            say("I", pos, name, i, stack:to_string())
        end
    end
    if timer:is_started() then
        say("T", pos, ("%.3f %.3f"):format(timer:get_timeout(), timer:get_elapsed()))
    end
end

local commands = {}

function commands.load(numbers, done)
    core.load_area(box(numbers))
    done()
end

function commands.generate(numbers, done)
    local low, high = box(numbers)
    core.emerge_area(low, high, function(_, _, left)
        if left == 0 then
            done()
        end
    end)
end

function commands.nodes(numbers, done)
    local low, high = box(numbers)
    core.load_area(low, high)
    each(low, high, function(pos)
        local n = core.get_node(pos)
        say("N", pos, n.name, n.param1, n.param2)
    end)
    done()
end

function commands.meta(numbers, done)
    local low, high = box(numbers)
    core.load_area(low, high)
    each(low, high, say_meta)
    done()
end

-- Blocks become active in a later step, so this looks until there is something, for a while.
function commands.objects(numbers, done)
    local low, high = box(numbers)
    local left = 300
    for x = low.x, high.x, 16 do
        for y = low.y, high.y, 16 do
            for z = low.z, high.z, 16 do
                core.forceload_block(vector.new(x, y, z), true)
            end
        end
    end
    local function look()
        local found = core.get_objects_in_area(vector.subtract(low, 0.5), vector.add(high, 0.5))
        left = left - 1
        if #found == 0 and left > 0 then
            core.after(0, look)
            return
        end
        for _, object in ipairs(found) do
            local p = object:get_pos()
            out:write(("O %s %s %.4f %.4f %.4f\n"):format(object:get_luaentity().name,
                                                          object:get_luaentity().data, p.x, p.y, p.z))
        end
        done()
    end
    look()
end

function commands.set(words, done)
    local x, y, z, name = words:match("(%S+) (%S+) (%S+) (%S+)")
    core.set_node(vector.new(tonumber(x), tonumber(y), tonumber(z)), {name = name})
    done()
end

function commands.touch(numbers, done)
    local pos = box(numbers)
    core.load_area(pos)
    core.swap_node(pos, core.get_node(pos))
    done()
end

function commands.light(numbers, done)
    local low, high = box(numbers)
    core.load_area(low, high)
    core.fix_light(low, high)
    done()
end

function commands.wait(name, done)
    local file = io.open(world .. "/" .. name)
    if file then
        file:close()
        done()
    else
        core.after(0.1, commands.wait, name, done)
    end
end

function commands.build(numbers, done)
    local low = box(numbers)
    local function at(x, y, z)
        return vector.add(low, vector.new(x, y, z))
    end
    core.load_area(low, at(15, 15, 15))
    each(low, at(15, 3, 15), function(pos)
        core.set_node(pos, {name = "judge:stone"})
    end)
    each(at(0, 4, 0), at(15, 4, 15), function(pos)
        core.set_node(pos, {name = "judge:dirt"})
    end)
    for i = 0, 15 do
        core.set_node(at(i, 5, 0), {name = "judge:stairs", param2 = i})
    end
    core.set_node(at(7, 5, 7), {name = "judge:lamp"})
    core.set_node(at(3, 5, 3), {name = "judge:chest"})
    local meta = core.get_meta(at(3, 5, 3))
    meta:set_string("infotext", "A chest\nwith = two lines")
    meta:set_string("owner", "judge")
    meta:mark_as_private("owner")
    meta:get_inventory():set_size("main", 4)
    meta:get_inventory():set_stack("main", 1, "judge:gold 7")
    meta:get_inventory():set_stack("main", 3, "judge:stone")
    core.set_node(at(5, 5, 3), {name = "judge:sign"})
    core.get_meta(at(5, 5, 3)):set_string("text", " # blanks and \27(c@red)colours ")
    core.set_node(at(9, 5, 3), {name = "judge:clock"})
    core.get_node_timer(at(9, 5, 3)):set(90.5, 1.25)
    core.forceload_block(low, true)
    -- A block that is saved before it was ever active has no time, and the game forgets the objects of such a one
    -- when it becomes active.
    local function populate()
        if not core.compare_block_status(low, "active") then
            core.after(0, populate)
            return
        end
        core.add_entity(at(2, 8, 2), "judge:thing", "first")
        core.add_entity(vector.add(at(4, 8, 2), 0.25), "judge:thing", "second")
        done()
    end
    populate()
end

local function run(lines)
    local line = lines()
    if line == nil then
        out:write("done\n")
        out:close()
        core.request_shutdown()
        return
    end
    local name, rest = line:match("(%S+) ?(.*)")
    commands[name](rest, function()
        out:flush()
        core.after(0, run, lines)
    end)
end

core.after(0, function()
    run(assert(io.lines(world .. "/judge.in")))
end)
