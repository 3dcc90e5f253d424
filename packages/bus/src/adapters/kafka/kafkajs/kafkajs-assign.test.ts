import { describe, expect, it } from "vitest";

import type { TopicPartition } from "../../../ports/port.ts";
import { assignPartitions } from "./kafkajs-assign.ts";
import type { AssignMember } from "./kafkajs-assign.ts";

const TOPICS = ["probe", "usage"];
const COUNTS = new Map(TOPICS.map((topic) => [topic, 24]));

function members(
  names: readonly string[],
  had: ReadonlyMap<string, TopicPartition[]> = new Map(),
): AssignMember[] {
  return names.map((memberId) => ({ memberId, topics: TOPICS, previous: had.get(memberId) ?? [] }));
}

function sizes(shares: ReadonlyMap<string, readonly TopicPartition[]>, topic: string): number[] {
  return [...shares.values()].map((share) => share.filter((each) => each.topic === topic).length);
}

const keys = (share: readonly TopicPartition[] = []): string[] =>
  share.map(({ topic, partition }) => `${topic}/${partition}`);

describe("sharing partitions out", () => {
  it.each([1, 2, 3, 5, 7, 24, 30])(
    "gives %i members each partition once, and equally many of each topic",
    (count) => {
      const names = Array.from({ length: count }, (_, i) => `m${i}`);
      const shares = assignPartitions(members(names), COUNTS);
      const all = [...shares.values()].flatMap((share) => keys(share));
      expect(all).toHaveLength(48);
      expect(new Set(all).size).toBe(48);
      for (const topic of TOPICS) {
        const counts = sizes(shares, topic);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      }
      const totals = [...shares.values()].map((share) => share.length);
      expect(Math.max(...totals) - Math.min(...totals)).toBeLessThanOrEqual(TOPICS.length);
    },
  );

  it("takes no more than it must from those who stay when one comes", () => {
    const before = assignPartitions(members(["a", "b"]), COUNTS);
    const after = assignPartitions(members(["a", "b", "c"], before), COUNTS);
    expect(sizes(after, "probe")).toEqual([8, 8, 8]);
    for (const name of ["a", "b"])
      expect(keys(before.get(name))).toEqual(expect.arrayContaining(keys(after.get(name))));
  });

  it("leaves those who stay what they have when one goes", () => {
    const before = assignPartitions(members(["a", "b", "c"]), COUNTS);
    const after = assignPartitions(members(["a", "c"], before), COUNTS);
    expect(sizes(after, "usage")).toEqual([12, 12]);
    for (const name of ["a", "c"])
      expect(keys(after.get(name))).toEqual(expect.arrayContaining(keys(before.get(name))));
  });

  it("does not depend on the order in which members are listed", () => {
    const names = ["c", "a", "d", "b"];
    const one = assignPartitions(members(names), COUNTS);
    const other = assignPartitions(members(names.toReversed()), COUNTS);
    for (const name of names) expect(keys(one.get(name))).toEqual(keys(other.get(name)));
  });

  it("believes nobody who claims what another has kept, or what there is not", () => {
    const claims = new Map([
      ["a", [{ topic: "probe", partition: 0 }]],
      [
        "b",
        [
          { topic: "probe", partition: 0 },
          { topic: "probe", partition: 99 },
          { topic: "other", partition: 0 },
        ],
      ],
    ]);
    const shares = assignPartitions(members(["a", "b"], claims), COUNTS);
    const all = [...shares.values()].flatMap((share) => keys(share));
    expect(all).toHaveLength(48);
    expect(new Set(all).size).toBe(48);
  });

  it("gives a topic only to those who want it", () => {
    const [a, b] = members(["a", "b"]);
    const shares = assignPartitions(
      [
        { ...a!, topics: ["probe"] },
        { ...b!, topics: ["usage"] },
      ],
      COUNTS,
    );
    expect(new Set(shares.get("a")!.map(({ topic }) => topic))).toEqual(new Set(["probe"]));
    expect(shares.get("b")).toHaveLength(24);
  });
});
