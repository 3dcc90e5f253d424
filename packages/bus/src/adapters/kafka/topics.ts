// Specifications of all topics. Missing topics are created from them, existing ones compared.
import { STATE_TOPICS, TOPICS } from "@isochrone/telemetry";

import { MAX_RECORD_BYTES } from "./client/client.ts";

/** Comparison of actual and wanted value. `-1` means unlimited, and exceeds every number. */
type TopicRule = "equal" | "at least" | "at most";

/** `error`: records get lost, misread or refused. `warning`: works at a cost. */
export type TopicSeverity = "error" | "warning";

export interface TopicSetting {
  readonly name: string;
  readonly value: string;
  readonly rule: TopicRule;
  readonly severity: TopicSeverity;
  /** Reason for the value and consequence of a deviation. */
  readonly reason: string;
}

export interface TopicSpec {
  readonly topic: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly settings: readonly TopicSetting[];
}

export interface TopicChoices {
  /** @default 24 */
  readonly partitions?: number;
  /** @default 3 */
  readonly replicationFactor?: number;
  /** Retention of probe, usage and traffic; longer than the aggregators' window. @default 1 h */
  readonly inputRetentionMs?: number;
  /** Topics of other writers, with the same settings as ours. @default none */
  readonly foreignTopics?: readonly string[];
}

const MIB = 1024 * 1024;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Bytes for key, headers, batch header and compression overhead of incompressible data. */
const BATCH_OVERHEAD_BYTES = 64 * 1024;

const DEFAULTS = {
  partitions: 24,
  replicationFactor: 3,
  inputRetentionMs: HOUR_MS,
  foreignTopics: [],
};

/** Returns all topics of Isochrone, in creation order. */
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
