"""Reads a timeline with Perfetto's official schema (Python package "perfetto") and holds it against what Perfetto
needs: every field is known, every slice is closed, times of a track do not go back, flows bind, counters count.
Prints a table of what it found.

    python perfetto_check.py FILE
"""

import sys
from collections import Counter, defaultdict

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

CLEARED, NEEDS_INTERNED = 1, 2


def refuse(text):
    sys.exit(f"wrong: {text}")


def all_known(message):
    """No field but those of the schema, in the types of the schema."""
    if len(UnknownFieldSet(message)):
        numbers = [field.field_number for field in UnknownFieldSet(message)]
        refuse(f"{message.DESCRIPTOR.name} has unknown fields {numbers}")
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for part in value if field.is_repeated else [value]:
                all_known(part)


class Reader:
    def __init__(self):
        self.tracks = {}
        self.names, self.categories, self.notes = {}, {}, {}
        self.open = defaultdict(list)
        self.last = {}
        self.flows = defaultdict(list)
        self.found = Counter()
        self.by_category = Counter()

    def intern(self, data):
        for texts, into in [
            (data.event_names, self.names),
            (data.event_categories, self.categories),
            (data.debug_annotation_names, self.notes),
        ]:
            for text in texts:
                if not text.iid or text.iid in into:
                    refuse(f"interned twice or as nothing: {text}")
                into[text.iid] = text.name

    def descriptor(self, track):
        if not track.uuid or track.uuid in self.tracks:
            refuse(f"track {track.uuid} is introduced twice or has no number")
        if track.HasField("parent_uuid") and track.parent_uuid not in self.tracks:
            refuse(f"the parent of track {track.uuid} is not known")
        self.tracks[track.uuid] = track
        kind = "processes" if track.HasField("process") else "tracks"
        self.found["counters" if track.HasField("counter") else kind] += 1

    def name(self, event):
        name = event.name or self.names.get(event.name_iid)
        return name or refuse(f"an event without a name: {event}")

    def event(self, time, event):
        track = event.track_uuid
        if track not in self.tracks:
            refuse(f"an event on track {track}, which is not known")
        if time < self.last.get(track, 0):
            refuse(f"time goes back on track {self.tracks[track].name} at {time}")
        self.last[track] = time
        is_counter = self.tracks[track].HasField("counter")
        if is_counter != (event.type == schema.TrackEvent.TYPE_COUNTER):
            refuse(f"an event of the wrong kind on track {self.tracks[track].name}")
        if is_counter:
            if event.counter_value < 0:
                refuse(f"{self.tracks[track].name} counts {event.counter_value}")
            self.found["counter values"] += 1
        elif event.type == schema.TrackEvent.TYPE_SLICE_END:
            if not self.open[track]:
                refuse(f"an end without a begin on {self.tracks[track].name} at {time}")
            self.open[track].pop()
            self.found["slices"] += 1
        else:
            self.begin(time, track, event)

    def begin(self, time, track, event):
        name = self.name(event)
        for iid in event.category_iids:
            self.by_category[self.categories[iid]] += 1
        for note in event.debug_annotations:
            self.notes[note.name_iid]
        for flow in event.flow_ids:
            self.flows[flow].append((time, track, name))
        if event.type == schema.TrackEvent.TYPE_SLICE_BEGIN:
            self.open[track].append(name)
        elif event.type == schema.TrackEvent.TYPE_INSTANT:
            self.found["instants"] += 1
        else:
            refuse(f"an event of type {event.type}")

    def packet(self, index, packet):
        if packet.trusted_packet_sequence_id != 1:
            refuse("a packet of another sequence")
        expected = NEEDS_INTERNED | (CLEARED if index == 0 else 0)
        if packet.sequence_flags != expected:
            refuse(f"packet {index} has flags {packet.sequence_flags}")
        self.intern(packet.interned_data)
        if packet.HasField("track_descriptor"):
            self.descriptor(packet.track_descriptor)
        elif packet.HasField("track_event"):
            self.event(packet.timestamp, packet.track_event)
        else:
            refuse(f"packet {index} says nothing")

    def finish(self):
        for track, names in self.open.items():
            if names:
                refuse(f"{names} never end on {self.tracks[track].name}")
        process = {}
        for uuid, track in self.tracks.items():
            process[uuid] = process.get(track.parent_uuid, uuid)
        self.found["flows"] = len(self.flows)
        for steps in self.flows.values():
            across = len({process[track] for _, track, _ in steps}) > 1
            self.found["flows with arrows"] += len(steps) > 1
            self.found["flows across processes"] += across
        for name, count in sorted(self.found.items()):
            print(f"{name}\t{count}")
        for name, count in sorted(self.by_category.items()):
            print(f"category {name}\t{count}")


def main():
    with open(sys.argv[1], "rb") as file:
        trace = schema.Trace.FromString(file.read())
    all_known(trace)
    reader = Reader()
    for index, packet in enumerate(trace.packet):
        reader.packet(index, packet)
    reader.finish()


if __name__ == "__main__":
    main()
