
local myrinet = Proto("myrinet", "Myrinet packet")
local route = ProtoField.bytes("myrinet.route", "Route")
local step = ProtoField.int8("myrinet.route.step", "Ports from ingress to egress")
local packet_type = ProtoField.uint16("myrinet.type", "Type", base.HEX)
local body = ProtoField.bytes("myrinet.body", "Behind the type")
local crc32 = ProtoField.uint32("myrinet.crc32", "CRC-32 of the boards", base.HEX)
local crc32_good = ProtoField.bool("myrinet.crc32.good", "CRC-32 is right")
local crc8 = ProtoField.uint8("myrinet.crc8", "CRC-8", base.HEX)
local crc8_good = ProtoField.bool("myrinet.crc8.good", "CRC-8 is right")
myrinet.fields = { route, step, packet_type, body, crc32, crc32_good, crc8, crc8_good }
local bad_check = ProtoExpert.new("myrinet.crc.bad", "A check sequence is wrong", expert.group.CHECKSUM,
    expert.severity.ERROR)
local bad_packet = ProtoExpert.new("myrinet.bad", "No packet looks so", expert.group.MALFORMED, expert.severity.ERROR)
myrinet.experts = { bad_check, bad_packet }

local gm = Proto("gm", "GM message passing")
local gm_fields = {}
for _, field in ipairs(fields) do
    local make = field.bytes == 2 and ProtoField.uint16 or ProtoField.uint32
    local shown = field.name == "subtype" and base.HEX or base.DEC
    field.proto = make("gm." .. field.name, field.title, shown, field.values, field.mask)
    table.insert(gm_fields, field.proto)
    fields[field.name] = field
    field.range = function(buffer) return buffer(field.first, field.bytes) end
    field.read = function(buffer) return buffer(field.first, field.bytes):bitfield(field.bit, field.bits) end
end
local kind_name = ProtoField.string("gm.kind", "Kind of packet")
local size = ProtoField.uint8("gm.size", "Size of the receive buffer")
local payload = ProtoField.bytes("gm.payload", "Payload")
local again = ProtoField.bool("gm.again", "On this wire before")
for _, field in ipairs({ kind_name, size, payload, again }) do
    table.insert(gm_fields, field)
end
gm.fields = gm_fields
local is_again = ProtoExpert.new("gm.again.expert", "This packet was on this wire before", expert.group.SEQUENCE,
    expert.severity.NOTE)
local is_nack = ProtoExpert.new("gm.nack", "The receiver asks for packets again", expert.group.RESPONSE_CODE,
    expert.severity.NOTE)
local is_odd = ProtoExpert.new("gm.bad", "No GM packet looks so", expert.group.MALFORMED, expert.severity.ERROR)
gm.experts = { is_again, is_nack, is_odd }

local interface = Field.new("frame.interface_id")

-- Packets seen so far on each wire, and of each packet of the file whether it was one of them.
local wires, known
function gm.init()
    wires, known = {}, {}
end

-- The remainders of all bytes, for a polynomial without its highest bit.
local function remainders(bits, polynomial)
    local high, mask = bit.lshift(1, bits - 1), bits == 32 and -1 or bit.lshift(1, bits) - 1
    local list = {}
    for byte = 0, 255 do
        local value = bit.lshift(byte, bits - 8)
        for _ = 1, 8 do
            local carry = bit.band(value, high) ~= 0
            value = bit.band(bit.lshift(value, 1), mask)
            if carry then
                value = bit.bxor(value, polynomial)
            end
        end
        list[byte] = value
    end
    return list
end
local remainders_8, remainders_32 = remainders(8, 0x07), remainders(32, 0x04C11DB7)

-- Whether bytes that end with their check sequence have the remainder 0.
local function is_whole(bytes, list, bits)
    local rest = 0
    for place = 1, #bytes do
        local top = bit.band(bit.rshift(rest, bits - 8), 0xFF)
        rest = bit.bxor(bit.lshift(rest, 8), list[bit.bxor(top, bytes:byte(place))])
        if bits == 8 then
            rest = bit.band(rest, 0xFF)
        end
    end
    return rest == 0
end

local function kind_of(subtype)
    if subtype >= data_subtypes[1] and subtype <= data_subtypes[2] then
        return "DATA", "sequenced"
    end
    if subtype >= head_subtypes[1] and subtype <= head_subtypes[2] then
        return "HEAD", "sequenced"
    end
    local name = subtypes[subtype]
    return name, name and name:match("ACK") and "answers" or "sequenced"
end

local function port_of(node, port)
    return port and string.format("n%d:%d", node, port) or "n" .. node
end

local function learn(number, values)
    local wire = interface() and interface().value or 0
    local packet = string.format("%d %d>%d %d %d:%d", wire, values.sender, values.target, values.sender_connection,
        values.session, values.sequence)
    known[number] = { again = wires[packet] }
    wires[packet] = true
end

-- Everything behind the route, without the CRC-8 of the link.
function gm.dissector(buffer, pinfo, tree)
    pinfo.cols.protocol = "GM"
    local part = tree:add(gm, buffer())
    if buffer:len() < header_bytes then
        part:add_proto_expert_info(is_odd, "Shorter than a header")
        return 0
    end
    local kind, group = kind_of(fields.subtype.read(buffer))
    if not kind then
        part:add(fields.subtype.proto, fields.subtype.range(buffer))
        part:add_proto_expert_info(is_odd, "There is no such subtype")
        return 0
    end
    part:add(kind_name, fields.subtype.range(buffer), kind)
    local values = {}
    for _, field in ipairs(fields) do
        if field.packets == "all" or field.packets == group then
            values[field.name] = field.read(buffer)
            part:add(field.proto, field.range(buffer))
        end
    end
    local info = kind
    local from, to = port_of(values.sender, values.sender_port), port_of(values.target, values.target_port)
    local used = header_bytes
    if group == "sequenced" then
        if kind == "DATA" then
            part:add(size, fields.subtype.range(buffer), values.subtype - data_subtypes[1])
        elseif kind == "HEAD" then
            part:add(size, fields.subtype.range(buffer), values.subtype - head_subtypes[1])
        end
        local padded = math.floor((values.length + 3) / 4) * 4
        local before = header_bytes + (extra_bytes[values.subtype] or 0)
        if before + padded > buffer:len() then
            part:add_proto_expert_info(is_odd, "Shorter than its payload")
        elseif before + padded > header_bytes then
            if values.length > 0 then
                part:add(payload, buffer(before, values.length))
            end
            used = before + padded
        end
        if not known[pinfo.number] then
            learn(pinfo.number, values)
        end
        info = string.format("%s %d bytes, session %d number %d, %s -> %s", kind, values.length, values.session,
            values.sequence, from, to)
        if known[pinfo.number].again then
            part:add(again, true):set_generated()
            part:add_proto_expert_info(is_again)
            info = info .. " (again)"
        end
    else
        info = string.format("%s session %d next %d, %s -> %s", kind, values.session, values.next, from, to)
        if kind ~= "ACK" then
            part:add_proto_expert_info(is_nack)
        end
    end
    part:append_text(": " .. info)
    pinfo.cols.info = info
    return used
end

local function check(tree, field, good_field, range, good)
    tree:add(field, range)
    tree:add(good_field, good):set_generated()
    if not good then
        tree:add_proto_expert_info(bad_check)
    end
end

function myrinet.dissector(buffer, pinfo, tree)
    pinfo.cols.protocol = "Myrinet"
    pinfo.cols.info = "packet"
    local part = tree:add(myrinet, buffer())
    local length = buffer:len()
    local start = 0
    while start < length and buffer(start, 1):uint() >= 0x80 do
        start = start + 1
    end
    if start > 0 then
        local steps = part:add(route, buffer(0, start))
        for place = 0, start - 1 do
            local low = bit.band(buffer(place, 1):uint(), 0x3F)
            steps:add(step, buffer(place, 1), low < 0x20 and low or low - 0x40)
        end
    end
    if length < start + 3 then
        part:add_proto_expert_info(bad_packet, "Shorter than type and CRC-8")
        return
    end
    part:add(packet_type, buffer(start, 2))
    check(part, crc8, crc8_good, buffer(length - 1, 1), is_whole(buffer:raw(0, length), remainders_8, 8))
    local rest = buffer(start, length - start - 1):tvb()
    if buffer(start, 2):uint() == fm_type then
        fm.dissector(rest, pinfo, tree)
        return
    end
    if buffer(start, 2):uint() ~= gm_type then
        part:add(body, rest(2))
        return
    end
    local used = gm.dissector(rest, pinfo, tree)
    -- Boards with a LANai 7 or 9 append a CRC-32 over everything behind the route.
    if used > 0 and rest:len() - used == 4 then
        local whole = is_whole(rest:raw(0, rest:len()), remainders_32, 32)
        check(part, crc32, crc32_good, rest(used, 4), whole)
    end
end

-- Over Ethernet a packet lies behind two bytes of padding.
local gm_ethernet = Proto("gm_ethernet", "GM in an Ethernet frame")
function gm_ethernet.dissector(buffer, pinfo, tree)
    if buffer:len() > 2 then
        gm.dissector(buffer(2):tvb(), pinfo, tree)
    end
end
DissectorTable.get("ethertype"):add(gm_ethertype, gm_ethernet)

DissectorTable.get("wtap_encap"):add((wtap_encaps or wtap)[link], myrinet)
