import {
  array,
  assert,
  boolean,
  constant,
  constantFrom,
  dictionary,
  integer,
  maxSafeInteger,
  oneof,
  property,
  record,
  string,
  uint8Array,
  type Arbitrary,
} from "fast-check";
import { describe, expect, it } from "vitest";

import { StoreError } from "../../../store/errors.ts";
import type { KubernetesObject } from "../../../store/port.ts";
import { binaryEvent, binaryFields, binaryObject, lengthy, numeric } from "../../../testing/binary-form.ts";
import { readEvent, readList, readObject } from "./envelope.ts";
import { messageNamed, type Field, type Message } from "./messages.ts";

const POD = { apiVersion: "v1", kind: "Pod" };
const same = (item: KubernetesObject): KubernetesObject => item;
const enveloped = (raw: Buffer, kind = "Pod"): Buffer =>
  Buffer.concat([
    Buffer.from("k8s\0"),
    lengthy(1, Buffer.concat([lengthy(1, Buffer.from("v1")), lengthy(2, Buffer.from(kind))])),
    lengthy(2, raw),
  ]);
const listOf = (raw: Buffer): Buffer => enveloped(lengthy(2, raw), "PodList");
const read = (raw: Buffer) => readObject(enveloped(raw), "get Pod");

function anyOf(message: Message, depth = 0): Arbitrary<Record<string, unknown>> {
  const members: Record<string, Arbitrary<unknown>> = {};
  const required: string[] = [];
  for (const field of message.fields) {
    if (field === undefined || field.holds === "skipped") continue;
    if (field.isInline) Object.assign(members, membersOf(field.message!, depth));
    else members[field.name] = anyValue(field, depth);
  }
  for (const name of message.nulls) {
    members[name] = oneof(constant(null), members[name]!);
    required.push(name);
  }
  return record(members, { requiredKeys: required });
}

function membersOf(message: Message, depth: number): Record<string, Arbitrary<unknown>> {
  return Object.fromEntries(
    message.fields.flatMap((field) => (field === undefined ? [] : [[field.name, anyValue(field, depth)]])),
  );
}

function anyValue(field: Field, depth: number): Arbitrary<unknown> {
  const one = anySingle(field, depth);
  if (field.shape === "list") return array(one, { minLength: 1, maxLength: 3 });
  return field.shape === "map" ? dictionary(string(), one, { minKeys: 1, maxKeys: 3 }) : one;
}

const MAX_DEPTH = 3;

function anySingle({ holds, message, isLeftOut }: Field, depth: number): Arbitrary<unknown> {
  switch (holds) {
    case "bool":
      return isLeftOut ? constant(true) : boolean();
    case "int":
      return maxSafeInteger().filter((value) => value !== 0 || !isLeftOut);
    case "time": {
      const time = integer({ min: -1e9, max: 4e9 }).map((s) =>
        new Date(s * 1_000).toISOString().replace(".000", ""),
      );
      return isLeftOut ? time : oneof(time, constant(null));
    }
    case "intOrString":
      return oneof(string(), integer());
    case "message":
      return depth < MAX_DEPTH ? anyOf(message!, depth + 1) : constant(emptyOf(message!));
    default:
      return string({ minLength: isLeftOut ? 1 : 0, unit: "grapheme" });
  }
}

const emptyOf = ({ nulls }: Message): object => Object.fromEntries(nulls.map((name) => [name, null]));

describe("an object in binary form", () => {
  it("is the object that JSON has, whatever its fields hold", () => {
    assert(
      property(anyOf(messageNamed("Pod")), (fields) => {
        const pod = { ...POD, metadata: { name: "web" }, ...fields };
        const { value, unknownField } = readObject(binaryObject(pod), "get Pod");
        expect(value).toEqual(pod);
        expect(unknownField).toBe(null);
      }),
      { numRuns: 60 },
    );
  });

  it("lacks what JSON leaves out when it is empty, and keeps what it shows", () => {
    const spec = { hostNetwork: false, hostname: "", priority: 0, enableServiceLinks: false, containers: [] };
    const metadata = { name: "", creationTimestamp: null, deletionTimestamp: null, generation: 0 };
    expect(readObject(binaryObject({ ...POD, metadata, spec, status: {} }), "get Pod").value).toEqual({
      ...POD,
      metadata: { deletionTimestamp: null },
      spec: { priority: 0, enableServiceLinks: false, containers: null },
      status: {},
    });
  });

  it("has the fields for which a pod isn't planned", () => {
    const spec = {
      resourceClaims: [{ name: "gpu", resourceClaimName: "g" }],
      workloadRef: { name: "w", podGroup: "g" },
      schedulingGroup: { podGroupName: "g" },
      tolerations: [{ key: "cores", operator: "Gt", value: "5" }],
      containers: [],
    };
    const pod = { ...POD, metadata: { name: "web" }, spec };
    expect(readObject(binaryObject(pod), "get Pod").value).toEqual({
      ...pod,
      spec: { ...spec, containers: null },
    });
  });

  it("has a key __proto__ of a map as JSON.parse makes it", () => {
    const options = JSON.parse('{"__proto__":"x","a":"y"}') as Record<string, string>;
    const pod = { ...POD, metadata: { annotations: options } };
    const { value } = readObject(binaryObject(pod), "get Pod");
    expect(JSON.stringify(value)).toBe(JSON.stringify(pod));
  });

  it("has large and negative numbers as JSON has them", () => {
    const int = (bytes: readonly number[]): unknown => {
      const generation = Buffer.from([(7 << 3) | 0, ...bytes]);
      const { items } = readList(listOf(lengthy(1, generation)), "list Pod", same).value;
      return items[0]?.metadata.generation;
    };
    const ones = Array.from({ length: 9 }, () => 0xff);
    expect(int([...ones, 0x01])).toBe(-1);
    expect(int([...ones.slice(1), 0x7f])).toBe(JSON.parse("9223372036854775807"));
    expect(int([0x80, ...ones.slice(1), 0x01])).toBe(-128);
    expect(int([0x80, 0x80, 0x80, 0x80, 0x10])).toBe(2 ** 32);
    expect(int([0xff, 0xff, 0xff, 0xff, 0x0f])).toBe(2 ** 32 - 1);
  });

  it("says the first field that the table doesn't have, unless it is empty", () => {
    const metadata = lengthy(1, lengthy(1, Buffer.from("web")));
    const spec = (...fields: Buffer[]): Buffer =>
      Buffer.concat([metadata, lengthy(2, Buffer.concat(fields))]);
    const node = lengthy(10, Buffer.from("n1"));
    expect(read(spec(lengthy(9_000, Buffer.from("x")), node))).toMatchObject({
      unknownField: "PodSpec 9000",
      value: { metadata: { name: "web" }, spec: { nodeName: "n1" } },
    });
    expect(read(spec(numeric(9_000, 1))).unknownField).toBe("PodSpec 9000");
    expect(read(spec(lengthy(2, lengthy(400, lengthy(1, Buffer.from("x")))))).unknownField).toBe(
      "Container 400",
    );
    expect(read(spec(lengthy(9_000, Buffer.alloc(0)), numeric(9_001, 0), node)).unknownField).toBe(null);
  });
});

describe("a list in binary form", () => {
  it("hands its items on one by one, without keeping them", () => {
    const items = ["a", "b"].map((name) => ({ metadata: { name, managedFields: [{ manager: "m" }] } }));
    const metadata = { resourceVersion: "7", continue: "more", remainingItemCount: 3 };
    const list = binaryObject({ apiVersion: "v1", kind: "PodList", metadata, items });
    const seen: string[] = [];
    const { value } = readList(list, "list Pod", (item) => {
      seen.push(item.metadata.name);
      expect(item.metadata).not.toHaveProperty("managedFields");
      return { ...POD, metadata: { name: item.metadata.name } };
    });
    expect(seen).toEqual(["a", "b"]);
    expect(value).toEqual({ metadata, items: seen.map((name) => ({ ...POD, metadata: { name } })) });
  });

  it("is refused when it is none, or of a kind that isn't read so", () => {
    const refusals: readonly (readonly [Buffer, string])[] = [
      [binaryObject({ ...POD, metadata: {} }), "Pod is no list"],
      [enveloped(Buffer.alloc(0), "NodeList"), "not read in binary form: v1 NodeList"],
      [Buffer.from('{"kind":"PodList"}'), "no object in binary form"],
      [Buffer.alloc(0), "no object in binary form"],
    ];
    for (const [bytes, reason] of refusals)
      expect(() => readList(bytes, "list Pod", same)).toThrow(
        `list Pod: the answer's binary form can't be read: ${reason}`,
      );
  });
});

describe("hostile bytes", () => {
  const pod = {
    ...POD,
    metadata: { name: "web", labels: { a: "b" }, creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: {
      containers: [{ name: "main", resources: { requests: { cpu: "1" } }, ports: [{ containerPort: 80 }] }],
      securityContext: { supplementalGroups: [1, 2] },
    },
    status: { startTime: "2026-01-01T00:00:00Z", containerStatuses: [{ name: "main", ready: true }] },
  };
  const good = binaryObject(pod);
  const list = binaryObject({ apiVersion: "v1", kind: "PodList", metadata: {}, items: [pod, pod] });
  const event = binaryEvent("ADDED", good).subarray(4);
  const readers = [
    (bytes: Buffer) => readObject(bytes, "get Pod"),
    (bytes: Buffer) => readList(bytes, "list Pod", same),
    (bytes: Buffer) => readEvent(bytes, "watch Pod"),
  ];
  const expectPlain = (bytes: Buffer): void => {
    for (const reads of readers) {
      try {
        reads(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(StoreError);
        expect(error).toMatchObject({ code: "unavailable" });
      }
    }
  };

  it("are refused in order, behind a good beginning and anywhere in it", () => {
    assert(property(uint8Array({ maxLength: 200 }), (bytes) => expectPlain(enveloped(Buffer.from(bytes)))));
    assert(
      property(
        constantFrom(good, list, event),
        array(record({ at: integer({ min: 0, max: 1_000 }), byte: integer({ min: 0, max: 255 }) }), {
          minLength: 1,
          maxLength: 4,
        }),
        (bytes, changes) => {
          const changed = Buffer.from(bytes);
          for (const { at, byte } of changes) changed[at % changed.length] = byte;
          expectPlain(changed);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("that break off are refused wherever they do", () => {
    for (let length = 0; length < good.length - 4; length += 1)
      expect(() => readObject(good.subarray(0, length), "get Pod")).toThrow(StoreError);
    const raw = binaryFields(messageNamed("Pod"), pod);
    for (let length = 1; length < raw.length; length += 1) expectPlain(enveloped(raw.subarray(0, length)));
  });

  it.each<[string, readonly number[], RegExp]>([
    ["a length beyond the end", [0x0a, 0x7f, 0x00], /a value of 127 bytes where only 1 are left/],
    ["a length of 2^63", [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], /only 0 are left/],
    ["a negative length", [0x0a, ...Array.from({ length: 9 }, () => 0xff), 0x01], /a value of -1 bytes/],
    ["a number without end", [0x08, ...Array.from({ length: 12 }, () => 0x80)], /.*/],
    ["the field 0", [0x02, 0x00], /no field has the tag 2/],
    ["a group", [0xf3, 0x07], /unknown form 3/],
    ["a number where a message belongs", [0x08, 0x01], /metadata of Pod is no message/],
    [
      "a time beyond the year 9999",
      [0x0a, 0x0a, 0x42, 0x08, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
      /years 1 to 9999/,
    ],
  ])("%s is refused", (_, bytes, reason) => {
    expect(() => read(Buffer.from(bytes))).toThrow(reason);
    expect(() => read(Buffer.from(bytes))).toThrow(StoreError);
  });
});
