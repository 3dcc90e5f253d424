import { STATE_TOPICS, TOPICS } from "@isochrone/telemetry";
import { describe, expect, it } from "vitest";

import type { TopicDescription } from "./client/client.ts";
import { deviationsOf } from "./topics-check.ts";
import { topicSpecs } from "./topics.ts";
import type { TopicSpec } from "./topics.ts";

function topicLike(spec: TopicSpec, config: Readonly<Record<string, string>> = {}): TopicDescription {
  const { topic, partitions, replicationFactor, settings } = spec;
  const wanted = Object.fromEntries(settings.map(({ name, value }) => [name, value]));
  return { topic, partitions, replicationFactor, config: { ...wanted, ...config } };
}

const specOf = (topic: string): TopicSpec => topicSpecs().find((spec) => spec.topic === topic)!;

describe("what topics should be like", () => {
  it("covers every topic, with a reason for each setting, and none twice", () => {
    const specs = topicSpecs();
    expect(specs.map(({ topic }) => topic)).toEqual([
      ...Object.values(TOPICS),
      ...Object.values(STATE_TOPICS),
    ]);
    for (const { settings } of specs) {
      const names = settings.map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
      expect(names).toEqual(
        expect.arrayContaining([
          "cleanup.policy",
          "retention.ms",
          "retention.bytes",
          "segment.bytes",
          "segment.ms",
        ]),
      );
      for (const { reason } of settings) expect(reason).not.toBe("");
    }
  });

  it("asks for no more replicas in sync than there are", () => {
    const minInSync = (replicationFactor: number): string | undefined =>
      topicSpecs({ replicationFactor })[0]!.settings.find(({ name }) => name === "min.insync.replicas")
        ?.value;
    expect([1, 2, 3, 5].map(minInSync)).toEqual(["1", "2", "2", "2"]);
  });
});

describe("comparing a topic", () => {
  it.each(topicSpecs().map((spec) => [spec.topic, spec] as const))(
    "finds %s as it should be",
    (_topic, spec) => {
      expect(deviationsOf(spec, topicLike(spec))).toEqual([]);
    },
  );

  it("takes more of what may be more, and less of what may be less", () => {
    const probe = specOf(TOPICS.probe);
    const better = { ...topicLike(probe), partitions: 48, replicationFactor: 5 };
    expect(deviationsOf(probe, better)).toEqual([]);
    const config = {
      "min.insync.replicas": "3",
      "retention.ms": "-1",
      "segment.ms": "1000",
      "max.message.bytes": "9999999",
    };
    expect(deviationsOf(probe, topicLike(probe, config))).toEqual([]);
  });

  it("counts no limit as more than any", () => {
    const graph = specOf(STATE_TOPICS.graph);
    const [deviation, ...others] = deviationsOf(
      graph,
      topicLike(graph, { "retention.bytes": "999999999999" }),
    );
    expect(others).toEqual([]);
    expect(deviation).toMatchObject({ setting: "retention.bytes", found: "999999999999", severity: "error" });
    const unlimited = deviationsOf(graph, topicLike(graph, { "segment.ms": "-1" }));
    expect(unlimited.map(({ setting }) => setting)).toEqual(["segment.ms"]);
  });

  it("names too few partitions and replicas", () => {
    const probe = specOf(TOPICS.probe);
    const found = deviationsOf(probe, { ...topicLike(probe), partitions: 6, replicationFactor: 2 });
    expect(found).toMatchObject([
      { setting: "partitions", wanted: "at least 24", found: "6", severity: "warning" },
      { setting: "replication.factor", wanted: "at least 3", found: "2", severity: "error" },
    ]);
  });

  it("names a setting that the cluster says nothing of, or nothing sensible", () => {
    const probe = specOf(TOPICS.probe);
    const { "retention.ms": _gone, ...config } = topicLike(probe, { "segment.bytes": "lots" }).config;
    expect(deviationsOf(probe, { ...topicLike(probe), config })).toMatchObject([
      { setting: "retention.ms", found: "nothing" },
      { setting: "segment.bytes", found: "lots" },
    ]);
  });

  it("names a topic that is missing", () => {
    expect(deviationsOf(specOf(TOPICS.usage), null)).toMatchObject([
      { topic: TOPICS.usage, setting: "topic", found: "none", severity: "error" },
    ]);
  });
});
