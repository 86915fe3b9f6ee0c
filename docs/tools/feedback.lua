-- Reports on packets for tshark and Wireshark: RFC 8888 (RTCP packet type 205, FMT 11) and transport-wide congestion control
-- (205, FMT 15; draft-holmer-rmcat-transport-wide-cc-extensions-01). Works with versions from 4.0 on, of which only newer ones
-- know RFC 8888 by themselves. How to use it: docs/captures.md.
--
-- UDP datagrams that are RTCP by all their bytes go to Wireshark's own dissector of RTCP, whatever their ports. After it, each
-- report gets a tree of its own: `ccfb` or `twcc`, an entry for each packet, times worked out.

local TRANSPORT_FEEDBACK, CCFB_FMT, TWCC_FMT = 205, 11, 15
local HEADER, SENDER, TIMESTAMP, BLOCK_HEADER, TWCC_FIXED = 4, 4, 4, 8, 20
-- RFC 8888 section 3.1: the most packets of a block, and the offsets that say no time.
local MAX_REPORTS, OVER_RANGE, UNKNOWN = 16384, 0x1FFE, 0x1FFF
-- Steps of a TWCC report in microseconds: of its reference time, and of a delta.
local REFERENCE_STEP, DELTA_STEP = 64000, 250

local ECN = { [0] = "not ECT", [1] = "ECT(1)", [2] = "ECT(0)", [3] = "CE" }
local FORMS = { [0] = "a count of packets", [1] = "a count less one (before erratum 8166)" }

local ccfb = Proto("ccfb", "Congestion Control Feedback (RFC 8888)")
local twcc = Proto("twcc", "Transport-Wide Congestion Control Feedback")

local of_ccfb = {
    sender = ProtoField.uint32("ccfb.sender_ssrc", "SSRC of the sender", base.HEX_DEC),
    timestamp = ProtoField.uint32("ccfb.timestamp", "Report timestamp", base.HEX),
    time = ProtoField.double("ccfb.time", "Report time in seconds"),
    block = ProtoField.none("ccfb.block", "Report block"),
    ssrc = ProtoField.uint32("ccfb.ssrc", "SSRC of the stream", base.HEX_DEC),
    begin = ProtoField.uint16("ccfb.begin_seq", "First sequence number"),
    count = ProtoField.uint16("ccfb.num_reports", "num_reports"),
    form = ProtoField.uint8("ccfb.form", "num_reports is", base.DEC, FORMS),
    packet = ProtoField.uint16("ccfb.packet", "Packet"),
    received = ProtoField.bool("ccfb.received", "Received", 16, nil, 0x8000),
    ecn = ProtoField.uint16("ccfb.ecn", "ECN", base.DEC, ECN, 0x6000),
    ato = ProtoField.uint16("ccfb.ato", "Arrival time offset in 1/1024 s", base.DEC, nil, 0x1FFF),
    age = ProtoField.double("ccfb.age_ms", "Arrived before the report, in milliseconds"),
    lost = ProtoField.uint32("ccfb.missing", "Packets not received"),
    ce = ProtoField.uint32("ccfb.ce", "Packets marked CE"),
    padding = ProtoField.bytes("ccfb.padding", "Padding"),
}
local of_twcc = {
    sender = ProtoField.uint32("twcc.sender_ssrc", "SSRC of the sender", base.HEX_DEC),
    media = ProtoField.uint32("twcc.media_ssrc", "SSRC of the media", base.HEX_DEC),
    first = ProtoField.uint16("twcc.base_seq", "Base sequence number"),
    count = ProtoField.uint16("twcc.status_count", "Packet status count"),
    reference = ProtoField.uint24("twcc.reference", "Reference time in 64 ms"),
    feedback = ProtoField.uint8("twcc.feedback_count", "Feedback packet count"),
    chunk = ProtoField.uint16("twcc.chunk", "Packet status chunk", base.HEX),
    packet = ProtoField.uint16("twcc.packet", "Packet"),
    received = ProtoField.bool("twcc.received", "Received"),
    delta = ProtoField.int32("twcc.delta_us", "After the one before, in microseconds"),
    arrival = ProtoField.double("twcc.arrival_ms", "Arrived, in milliseconds"),
    lost = ProtoField.uint32("twcc.missing", "Packets not received"),
    padding = ProtoField.bytes("twcc.padding", "Padding"),
}
local function experts(name, text, group, severity)
    return { ccfb = ProtoExpert.new("ccfb." .. name, text, group, severity),
        twcc = ProtoExpert.new("twcc." .. name, text, group, severity) }
end
local wrong = experts("wrong", "The report is wrong", expert.group.MALFORMED, expert.severity.ERROR)
local front = experts("front", "The capture kept only the front of the report", expert.group.UNDECODED, expert.severity.NOTE)

local function values(fields)
    local list = {}
    for _, field in pairs(fields) do
        list[#list + 1] = field
    end
    return list
end

ccfb.fields, twcc.fields = values(of_ccfb), values(of_twcc)
ccfb.experts, twcc.experts = { wrong.ccfb, front.ccfb }, { wrong.twcc, front.twcc }

-- RTCP's P bit: the bytes of a packet without its padding. TWCC's senders count the bytes to the next word alone.
local function without_padding(packet, is_twcc)
    local length = packet:len()
    if bit.band(packet(0, 1):uint(), 0x20) == 0 then
        return length
    end
    local padding = packet(length - 1, 1):uint()
    local counts = is_twcc or padding % 4 == 0
    if padding == 0 or not counts or padding > length - HEADER then
        return nil
    end
    return length - padding
end

-- Bytes of a block with so many packets.
local function block_size(count)
    return BLOCK_HEADER + 2 * (count + count % 2)
end

-- Whether blocks from `at` fill the packet up to `stop` if num_reports is a count less `less`. Padding that says "received" is
-- none but an entry.
local function fits(packet, at, stop, less)
    while at < stop do
        if at + BLOCK_HEADER > stop then
            return false
        end
        local count = packet(at + 6, 2):uint() + less
        local after = at + block_size(count)
        if count > MAX_REPORTS or after > stop then
            return false
        end
        if count % 2 == 1 and packet(after - 2, 1):uint() >= 0x80 then
            return false
        end
        at = after
    end
    return true
end

local function ccfb_entry(packet, at, number, tree, totals)
    local range = packet(at, 2)
    local bits = range:uint()
    local item = tree:add(of_ccfb.packet, range, number)
    item:add(of_ccfb.received, range)
    if bits < 0x8000 then
        totals.missing = totals.missing + 1
        item:append_text(": not received")
        return
    end
    local ecn, ato = bit.band(bit.rshift(bits, 13), 3), bit.band(bits, 0x1FFF)
    item:add(of_ccfb.ecn, range)
    local offset = item:add(of_ccfb.ato, range)
    totals.ce = totals.ce + (ecn == 3 and 1 or 0)
    local said
    if ato == OVER_RANGE then
        said = "longer ago than 8 s"
    elseif ato == UNKNOWN then
        said = "at an unknown time"
    else
        local age = ato * 1000 / 1024
        item:add(of_ccfb.age, range, age):set_generated()
        said = string.format("%.1f ms before the report", age)
    end
    offset:append_text(" (" .. said .. ")")
    item:append_text(": " .. ECN[ecn] .. ", " .. said)
end

-- One block, of which `stop` may be before the end. Answers where the next one begins.
local function ccfb_block(packet, at, stop, less, tree, totals)
    local told = packet(at + 6, 2):uint()
    local count, begin = told + less, packet(at + 4, 2):uint()
    local size = math.min(block_size(count), stop - at)
    local block = tree:add(of_ccfb.block, packet(at, size))
    block:append_text(string.format(": SSRC 0x%08x, %d packets from %d", packet(at, 4):uint(), count, begin))
    block:add(of_ccfb.ssrc, packet(at, 4))
    block:add(of_ccfb.begin, packet(at + 4, 2))
    block:add(of_ccfb.count, packet(at + 6, 2))
    for place = 0, count - 1 do
        local entry = at + BLOCK_HEADER + 2 * place
        if entry + 2 > stop then
            block:add_proto_expert_info(front.ccfb, string.format("%d of %d packets are here", place, count))
            return stop
        end
        ccfb_entry(packet, entry, (begin + place) % 65536, block, totals)
        totals.packets = totals.packets + 1
    end
    local behind = at + BLOCK_HEADER + 2 * count
    if count % 2 == 1 and behind + 2 <= stop then
        block:add(of_ccfb.padding, packet(behind, 2))
    end
    return at + block_size(count)
end

-- A report of RFC 8888, all of it or what the capture kept (`whole` is false). Answers what the Info column says.
local function dissect_ccfb(packet, whole, tree)
    local root = tree:add(ccfb, packet)
    local stop = whole and without_padding(packet, false) or packet:len()
    if whole and not without_padding(packet, false) then
        root:add_proto_expert_info(wrong.ccfb, "The count of padding does not fit")
        return "RFC 8888, wrong"
    end
    if stop < HEADER + SENDER + (whole and TIMESTAMP or 0) then
        root:add_proto_expert_info(whole and wrong.ccfb or front.ccfb, "The report ends before its blocks")
        return "RFC 8888, cut short"
    end
    root:add(of_ccfb.sender, packet(HEADER, SENDER))
    local at, blocks_end = HEADER + SENDER, stop
    local less = 0
    if whole then
        blocks_end = stop - TIMESTAMP
        if not fits(packet, at, blocks_end, 0) then
            if not fits(packet, at, blocks_end, 1) then
                root:add_proto_expert_info(wrong.ccfb, "num_reports does not fill the packet, neither as a count nor as a count less one")
                return "RFC 8888, wrong"
            end
            less = 1
        end
        root:add(of_ccfb.form, less):set_generated()
        local timestamp = packet(blocks_end, TIMESTAMP)
        root:add(of_ccfb.timestamp, timestamp)
        root:add(of_ccfb.time, timestamp, timestamp:uint() / 65536):set_generated()
    else
        root:add_proto_expert_info(front.ccfb, "The capture kept only the front of the report; num_reports is taken for a count")
    end
    local totals = { packets = 0, missing = 0, ce = 0 }
    while at + BLOCK_HEADER <= blocks_end do
        at = ccfb_block(packet, at, blocks_end, less, root, totals)
    end
    root:add(of_ccfb.lost, totals.missing):set_generated()
    root:add(of_ccfb.ce, totals.ce):set_generated()
    local info = string.format("RFC 8888: %d packets, %d missing, %d CE", totals.packets, totals.missing, totals.ce)
    root:append_text(string.format(": %d packets, %d missing, %d CE", totals.packets, totals.missing, totals.ce))
    return info
end

-- The statuses of a chunk in order, the most that may be meant: 0 missing, 1 and 2 bytes of a delta, 3 reserved.
local function statuses_of(chunk, most)
    local found = {}
    if chunk < 0x8000 then
        for place = 1, math.min(bit.band(chunk, 0x1FFF), most) do
            found[place] = bit.band(bit.rshift(chunk, 13), 3)
        end
        return found, string.format("%d times %d", bit.band(chunk, 0x1FFF), bit.band(bit.rshift(chunk, 13), 3))
    end
    local width = chunk < 0xC000 and 1 or 2
    local said = {}
    for place = 1, 14 / width do
        local status = bit.band(bit.rshift(chunk, 14 - width * place), width == 1 and 1 or 3)
        said[place] = tostring(status)
        if place <= most then
            found[place] = status
        end
    end
    return found, table.concat(said, " ")
end

-- The statuses of all packets, from their chunks; and where the deltas begin. Nothing, if the chunks end early.
local function twcc_statuses(packet, count, stop, root, kind)
    local statuses, at = {}, TWCC_FIXED
    while #statuses < count do
        if at + 2 > stop then
            root:add_proto_expert_info(kind, string.format("Chunks tell of %d of %d packets", #statuses, count))
            return nil
        end
        local chunk = packet(at, 2)
        local found, said = statuses_of(chunk:uint(), count - #statuses)
        root:add(of_twcc.chunk, chunk):append_text(" (" .. said .. ")")
        for _, status in ipairs(found) do
            statuses[#statuses + 1] = status
        end
        at = at + 2
    end
    return statuses, at
end

local function twcc_entry(packet, at, number, status, time, root)
    local delta = status == 1 and packet(at, 1):uint() or packet(at, 2):int()
    local item = root:add(of_twcc.packet, packet(at, status), number)
    time = time + delta * DELTA_STEP
    item:add(of_twcc.received, packet(at, status), true):set_generated()
    item:add(of_twcc.delta, packet(at, status), delta * DELTA_STEP)
    item:add(of_twcc.arrival, packet(at, status), time / 1000):set_generated()
    item:append_text(string.format(": %+.2f ms, at %.2f ms", delta * DELTA_STEP / 1000, time / 1000))
    return time
end

-- The packets one by one, as far as their deltas are there. Answers how many, how many were missing, and where it ended.
local function twcc_packets(packet, at, stop, statuses, root, kind)
    local time, missing, first = packet(16, 3):uint() * REFERENCE_STEP, 0, packet(12, 2):uint()
    for place, status in ipairs(statuses) do
        local number = (first + place - 1) % 65536
        if status == 3 then
            root:add_proto_expert_info(wrong.twcc, string.format("Packet %d has the reserved status 3", number))
            return place - 1, missing, nil
        elseif status == 0 then
            local item = root:add(of_twcc.packet, number)
            item:set_generated()
            item:add(of_twcc.received, false):set_generated()
            item:append_text(": not received")
            missing = missing + 1
        elseif at + status > stop then
            root:add_proto_expert_info(kind, string.format("Deltas end before packet %d", number))
            return place - 1, missing, nil
        else
            time = twcc_entry(packet, at, number, status, time, root)
            at = at + status
        end
    end
    return #statuses, missing, at
end

-- A report of transport-wide numbers, all of it or what the capture kept. Answers what the Info column says.
local function dissect_twcc(packet, whole, tree)
    local root = tree:add(twcc, packet)
    local kind = whole and wrong.twcc or front.twcc
    if not whole then
        root:add_proto_expert_info(front.twcc)
    end
    local stop = whole and without_padding(packet, true) or packet:len()
    if whole and not without_padding(packet, true) then
        root:add_proto_expert_info(wrong.twcc, "The count of padding does not fit")
        return "TWCC, wrong"
    end
    if stop < TWCC_FIXED then
        root:add_proto_expert_info(kind, "The report ends before its chunks")
        return "TWCC, cut short"
    end
    root:add(of_twcc.sender, packet(4, 4))
    root:add(of_twcc.media, packet(8, 4))
    root:add(of_twcc.first, packet(12, 2))
    root:add(of_twcc.count, packet(14, 2))
    root:add(of_twcc.reference, packet(16, 3)):append_text(" (" .. packet(16, 3):uint() * REFERENCE_STEP / 1000 .. " ms)")
    root:add(of_twcc.feedback, packet(19, 1))
    local count = packet(14, 2):uint()
    if count == 0 then
        root:add_proto_expert_info(wrong.twcc, "A report on no packet says no time")
    end
    local statuses, at = twcc_statuses(packet, count, stop, root, kind)
    if not statuses then
        return "TWCC, cut short"
    end
    local told, missing, ended = twcc_packets(packet, at, stop, statuses, root, kind)
    if ended and packet:len() > ended then
        root:add(of_twcc.padding, packet(ended, packet:len() - ended))
        if stop - ended >= 4 then
            root:add_proto_expert_info(wrong.twcc, string.format("%d bytes behind the deltas", stop - ended))
        end
    end
    root:add(of_twcc.lost, missing):set_generated()
    root:append_text(string.format(": %d packets, %d missing", told, missing))
    return string.format("TWCC: %d packets, %d missing", told, missing)
end

-- The report in `range`, which begins with an RTCP packet, and may be less or more than that.
local function dissect_report(range, tree)
    if range:len() < HEADER or range(1, 1):uint() ~= TRANSPORT_FEEDBACK then
        return nil
    end
    local format, size = bit.band(range(0, 1):uint(), 0x1F), 4 * (range(2, 2):uint() + 1)
    local whole = size <= range:len()
    local packet = range(0, math.min(size, range:len()))
    if format == CCFB_FMT then
        return dissect_ccfb(packet, whole, tree)
    elseif format == TWCC_FMT then
        return dissect_twcc(packet, whole, tree)
    end
end

-- Whether a datagram is RTCP: packets of version 2 and of RTCP's types that fill it (RFC 3550 appendix A.2, RFC 5761).
local function is_rtcp(buffer)
    local at, length = 0, buffer:reported_len()
    if length < HEADER or length % 4 ~= 0 or buffer:len() < HEADER then
        return false
    end
    while at < length do
        if at + HEADER > buffer:len() then
            -- The capture kept only the front, which was RTCP.
            return at > 0
        end
        local kind = buffer(at + 1, 1):uint()
        if bit.rshift(buffer(at, 1):uint(), 6) ~= 2 or kind < 192 or kind > 223 then
            return false
        end
        at = at + 4 * (buffer(at + 2, 2):uint() + 1)
    end
    return at == length
end

-- The reports of a datagram of RTCP packets, as far as it is here.
local function dissect_datagram(buffer, pinfo, tree)
    local at = 0
    while at + HEADER <= buffer:len() do
        local info = dissect_report(buffer(at), tree)
        if info then
            pinfo.cols.info:append(" [" .. info .. "]")
        end
        at = at + 4 * (buffer(at + 2, 2):uint() + 1)
    end
end

local rtcp = Dissector.get("rtcp")

ccfb:register_heuristic("udp", function(buffer, pinfo, tree)
    if not is_rtcp(buffer) then
        return false
    end
    if buffer:len() < buffer:reported_len() then
        -- Wireshark's dissector ends with an exception that leaks a bit of Lua's stack: after 200 of them nothing works.
        pinfo.cols.protocol = "RTCP"
        dissect_datagram(buffer, pinfo, tree)
    else
        -- What it finds wrong it says in the tree.
        pcall(rtcp.call, rtcp, buffer, pinfo, tree)
    end
    return true
end)

local rtcp_packets = Field.new("rtcp")

function ccfb.dissector(_, pinfo, tree)
    for _, found in ipairs({ rtcp_packets() }) do
        local info = dissect_report(found.range, tree)
        if info then
            pinfo.cols.info:append(" [" .. info .. "]")
        end
    end
end

register_postdissector(ccfb)
