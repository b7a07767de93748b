
local by_kind = {}
for _, field in ipairs(fields) do
    for _, kind in ipairs(field.kinds) do
        by_kind[kind] = by_kind[kind] or {}
        table.insert(by_kind[kind], field)
    end
end

local emp = Proto("emp", "EMP message passing")

-- Bits of a 16-bit or 32-bit part of the frame; the first byte counts from the EMP header on.
local proto_fields = {}
for _, field in ipairs(fields) do
    local make = field.bytes == 2 and ProtoField.uint16 or ProtoField.uint32
    field.proto = make("emp." .. field.name, field.title, base.DEC, field.values, field.mask)
    table.insert(proto_fields, field.proto)
end
local destination = ProtoField.uint16("emp.destination", "Destination node")
local payload = ProtoField.bytes("emp.payload", "Payload")
local payload_length = ProtoField.uint32("emp.payload_length", "Length of the payload")
local again = ProtoField.bool("emp.again", "On this wire before")
local answers = ProtoField.framenum("emp.answers", "Answers the frame in", base.NONE, frametype.ACK)
local answered = ProtoField.framenum("emp.answered", "Answered in", base.NONE, frametype.RESPONSE)
for _, field in ipairs({ destination, payload, payload_length, again, answers, answered }) do
    table.insert(proto_fields, field)
end
emp.fields = proto_fields

local is_again = ProtoExpert.new("emp.again.expert", "This frame was on this wire before",
    expert.group.SEQUENCE, expert.severity.NOTE)
local is_bad = ProtoExpert.new("emp.bad", "No EMP frame looks so", expert.group.MALFORMED, expert.severity.ERROR)
local is_nack = ProtoExpert.new("emp.nack", "The receiver has given the message up",
    expert.group.RESPONSE_CODE, expert.severity.WARN)
emp.experts = { is_again, is_bad, is_nack }

local ethernet_to = Field.new("eth.dst")
local interface = Field.new("frame.interface_id")

-- What is known of messages and frames so far, and of each frame of the file once it was seen.
local messages, places, wires, known
function emp.init()
    messages, places, wires, known = {}, {}, {}, {}
end

-- The node with an Ethernet address, if the address is one of those that nodes have.
local function node_of(address)
    local range = address.range
    if range(0, 4):bytes():tohex(true) == node_prefix then
        return range(4, 2):uint()
    end
end

-- Looks at a frame for the first time, in the order of the file: what it belongs to.
local function learn(number, kind, values, to)
    local about = {}
    local sender, receiver = values.source, to
    if kind == kinds.ACK or kind == kinds.NACK then
        sender, receiver = to, values.source
    end
    local epoch = values.answered_epoch or values.epoch
    local message = string.format("%s>%s %d:%d", sender, receiver, epoch, values.message)
    local frame = message .. "." .. values.frame
    if kind == kinds.HEADER then
        messages[message] = { frames = values.frames, length = values.length }
    end
    about.message = messages[message]
    if kind == kinds.HEADER or kind == kinds.DATA then
        local wire = interface() and interface().value or 0
        local place = wire .. " " .. frame
        about.again = wires[place]
        wires[place] = true
        places[frame] = number
    elseif places[frame] then
        about.answers = places[frame]
        local about_frame = known[about.answers]
        about_frame.answered = about_frame.answered or number
    end
    known[number] = about
end

local function info_of(kind, values, to, about)
    local text = string.format("%s msg %d", field_of.kind.values[kind], values.message)
    if kind == kinds.HEADER then
        text = text .. string.format(" frame %d of %d, tag %d, %d bytes", values.frame, values.frames, values.tag,
            values.length)
    else
        text = text .. string.format(" frame %d", values.frame)
        if about.message then
            text = text .. string.format(" of %d", about.message.frames)
        end
    end
    text = text .. string.format(" n%d -> %s", values.source, to and "n" .. to or "?")
    if values.pressure and values.pressure > 0 then
        text = text .. ", " .. (field_of.pressure.values[values.pressure] or "?")
    end
    return about.again and text .. " (again)" or text
end

-- The payload begins at `from`; what is behind it is padding.
local function add_payload(buffer, tree, from, values, about)
    local length = buffer:len() - from
    if about.message then
        length = math.min(length, math.max(about.message.length - (values.offset or 0), 0))
    end
    tree:add(payload_length, length):set_generated()
    if length > 0 then
        tree:add(payload, buffer(from, length))
    end
end

local function complain(tree, kind, values, about)
    local first = values.frame == 0
    if (kind == kinds.HEADER) ~= first and (kind == kinds.HEADER or kind == kinds.DATA) then
        tree:add_proto_expert_info(is_bad, "Header frames have number 0, and no others")
    end
    if kind == kinds.HEADER and values.frames == 0 then
        tree:add_proto_expert_info(is_bad, "A message has at least one frame")
    end
    if about.message and values.frame >= about.message.frames then
        tree:add_proto_expert_info(is_bad, "The message has no such frame")
    end
    if kind == kinds.NACK then
        tree:add_proto_expert_info(is_nack)
    end
    if about.again then
        tree:add(again, true):set_generated()
        tree:add_proto_expert_info(is_again)
    end
end

function emp.dissector(buffer, pinfo, tree)
    pinfo.cols.protocol = "EMP"
    local part = tree:add(emp, buffer())
    if buffer:len() < data_payload then
        part:add_proto_expert_info(is_bad, "Shorter than a frame header")
        return
    end
    local kind = field_of.kind.read(buffer)
    local payload_from = kind == kinds.HEADER and header_payload or data_payload
    if not by_kind[kind] or buffer:len() < payload_from then
        part:add(field_of.kind.proto, field_of.kind.range(buffer))
        part:add_proto_expert_info(is_bad, "There is no such kind of frame, or it is too short for its kind")
        pinfo.cols.info = "frame of unknown kind " .. kind
        return
    end
    local values = {}
    for _, field in ipairs(by_kind[kind]) do
        values[field.name] = field.read(buffer)
        part:add(field.proto, field.range(buffer))
    end
    local to = ethernet_to() and node_of(ethernet_to())
    if to then
        part:add(destination, to):set_generated()
    end
    if not known[pinfo.number] then
        learn(pinfo.number, kind, values, to)
    end
    local about = known[pinfo.number]
    if about.answers then
        part:add(answers, about.answers):set_generated()
    end
    if about.answered then
        part:add(answered, about.answered):set_generated()
    end
    if kind == kinds.HEADER or kind == kinds.DATA then
        add_payload(buffer, part, payload_from, values, about)
    end
    complain(part, kind, values, about)
    local info = info_of(kind, values, to, about)
    part:append_text(": " .. info)
    pinfo.cols.info = info
end

DissectorTable.get("ethertype"):add(ethertype, emp)
