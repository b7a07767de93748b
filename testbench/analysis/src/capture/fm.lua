
local fm = Proto("fm", "FM message passing")
local fm_protos = {}
for _, field in ipairs(fm_fields) do
    local make = field.bytes == 2 and ProtoField.uint16 or ProtoField.uint32
    field.proto = make("fm." .. field.name, field.title, base.DEC, nil, field.mask)
    table.insert(fm_protos, field.proto)
end
local fm_payload = ProtoField.bytes("fm.payload", "Payload")
table.insert(fm_protos, fm_payload)
fm.fields = fm_protos
local fm_odd = ProtoExpert.new("fm.bad", "No FM packet looks so", expert.group.MALFORMED, expert.severity.ERROR)
fm.experts = { fm_odd }

-- Everything behind the route, without the CRC-8 of the link.
function fm.dissector(buffer, pinfo, tree)
    pinfo.cols.protocol = "FM"
    local part = tree:add(fm, buffer())
    if buffer:len() < fm_header_bytes then
        part:add_proto_expert_info(fm_odd, "Shorter than a header")
        return
    end
    local values = {}
    for _, field in ipairs(fm_fields) do
        part:add(field.proto, buffer(field.first, field.bytes))
        values[field.name] = buffer(field.first, field.bytes):bitfield(field.bit, field.bits)
    end
    local kind = fm_kinds[values.kind]
    if not kind then
        part:add_proto_expert_info(fm_odd, "There is no such kind")
        return
    end
    if buffer:len() > fm_header_bytes then
        part:add(fm_payload, buffer(fm_header_bytes))
    end
    local info = string.format("%s, message %d of %d bytes, n%d -> n%d", kind, values.message, values.length,
        values.sender, values.target)
    part:append_text(": " .. info)
    pinfo.cols.info = info
end
