// What every topic must be like, as data: the broker makes missing ones of it, existing ones are compared
// with it.
import { STATE_TOPICS, TOPICS } from "@isochrone/telemetry";

import { MAX_RECORD_BYTES } from "./client/client.ts";

/**
 * How a found value is compared with the wanted one. `-1` means without limit, and so is more than any
 * number.
 */
type TopicRule = "equal" | "at least" | "at most";

/** `error`: records are lost, misread or refused. `warning`: it works, at a price. */
export type TopicSeverity = "error" | "warning";

export interface TopicSetting {
  /** As Kafka calls it. */
  readonly name: string;
  readonly value: string;
  readonly rule: TopicRule;
  readonly severity: TopicSeverity;
  /** Why this value, and so what a deviation means. */
  readonly reason: string;
}

export interface TopicSpec {
  readonly topic: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly settings: readonly TopicSetting[];
}

/** What an installation may choose. */
export interface TopicChoices {
  /** @default 24 */
  readonly partitions?: number;
  /** @default 3 */
  readonly replicationFactor?: number;
  /** Of probe, usage and traffic: more than the aggregators' window. @default 1 h */
  readonly inputRetentionMs?: number;
  /** Topics of other writers, kept like those of our own. @default none */
  readonly foreignTopics?: readonly string[];
}

const MIB = 1024 * 1024;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Room for key, headers, the batch's own header, and compression that makes incompressible bytes longer. */
const BATCH_OVERHEAD_BYTES = 64 * 1024;

const DEFAULTS = {
  partitions: 24,
  replicationFactor: 3,
  inputRetentionMs: HOUR_MS,
  foreignTopics: [],
};

/** All topics of Isochrone, in the order of their making. */
export function topicSpecs(choices: TopicChoices = {}): TopicSpec[] {
  const chosen = { ...DEFAULTS, ...choices };
  const { partitions, replicationFactor } = chosen;
  const spec = (topic: string, own: readonly TopicSetting[]): TopicSpec => ({
    topic,
    partitions,
    replicationFactor,
    settings: [...commonSettings(replicationFactor), ...own],
  });
  return [
    ...[...Object.values(TOPICS), ...chosen.foreignTopics].map((topic) =>
      spec(topic, inputSettings(chosen.inputRetentionMs)),
    ),
    spec(STATE_TOPICS.graph, graphSettings()),
    spec(STATE_TOPICS.deadLetter, deadLetterSettings()),
  ];
}

function commonSettings(replicationFactor: number): TopicSetting[] {
  return [
    setting("min.insync.replicas", Math.min(2, replicationFactor), "at least", "error", {
      reason: "losing a broker loses no acknowledged record",
    }),
    setting("unclean.leader.election.enable", "false", "equal", "error", {
      reason: "a leader that lacks acknowledged records would lose them",
    }),
    setting("message.timestamp.type", "LogAppendTime", "equal", "error", {
      reason: "a source's clock is compared with the broker's, and must not decide when segments expire",
    }),
    setting("max.message.bytes", MAX_RECORD_BYTES + BATCH_OVERHEAD_BYTES, "at least", "error", {
      reason: "records of 1 MiB with key and headers; smaller refuses large ones",
    }),
    setting("compression.type", "producer", "equal", "warning", {
      reason: "anything else makes brokers compress anew",
    }),
  ];
}

function inputSettings(retentionMs: number): TopicSetting[] {
  return [
    cleanup("delete", "measurements are useless after their window"),
    setting("retention.ms", retentionMs, "at least", "warning", {
      reason: "an aggregator that starts reads its window here",
    }),
    setting("retention.bytes", 512 * MIB, "at least", "warning", {
      reason: "per partition: a flood fills no disk",
    }),
    ...segments(64 * MIB, 10 * MINUTE_MS, "expired data goes by whole segments"),
  ];
}

function graphSettings(): TopicSetting[] {
  return [
    cleanup("compact", "the last value of each key is kept"),
    setting("retention.ms", -1, "at least", "error", { reason: "last values must not expire" }),
    setting("retention.bytes", -1, "at least", "error", {
      reason: "last values must not expire",
    }),
    setting("delete.retention.ms", DAY_MS, "at least", "error", {
      reason: "slow readers must see tombstones",
    }),
    setting("max.compaction.lag.ms", HOUR_MS, "at most", "warning", {
      reason: "a start reads little",
    }),
    setting("min.cleanable.dirty.ratio", "0.2", "at most", "warning", {
      reason: "it is read as a whole: compacted early",
    }),
    ...segments(16 * MIB, 10 * MINUTE_MS, "the active segment is never compacted"),
  ];
}

function deadLetterSettings(): TopicSetting[] {
  return [
    cleanup("delete", "for people to look at"),
    setting("retention.ms", 7 * DAY_MS, "at least", "warning", { reason: "a week to notice and to look" }),
    setting("retention.bytes", 64 * MIB, "at least", "warning", {
      reason: "per partition: a flood fills no disk",
    }),
    ...segments(16 * MIB, DAY_MS, "it is mostly empty"),
  ];
}

function cleanup(policy: "delete" | "compact", reason: string): TopicSetting {
  return setting("cleanup.policy", policy, "equal", "error", { reason });
}

function segments(bytes: number, ms: number, reason: string): TopicSetting[] {
  return [
    setting("segment.bytes", bytes, "at most", "warning", { reason }),
    setting("segment.ms", ms, "at most", "warning", { reason }),
  ];
}

function setting(
  name: string,
  value: number | string,
  rule: TopicRule,
  severity: TopicSeverity,
  { reason }: { readonly reason: string },
): TopicSetting {
  return { name, value: String(value), rule, severity, reason };
}
