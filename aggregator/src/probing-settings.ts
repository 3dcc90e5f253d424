// The aggregator's settings of probing: whom probes measure, the keys that they sign with, and bandwidth tests.
import { bytes, duration, integer, text } from "@isochrone/runtime";

/** A part of the aggregator's section. */
export const PROBING_SETTINGS = {
  probeUdpPort: integer({
    default: 7411,
    min: 1,
    max: 65_535,
    description: "UDP port of the probes' responders.",
  }),
  probeTcpPort: integer({
    default: 7411,
    min: 1,
    max: 65_535,
    description: "TCP port of the probes' responders.",
  }),
  probeBandwidthPort: integer({
    default: 7413,
    min: 0,
    max: 65_535,
    description: "Port on which probes take bandwidth bursts; 0 = they take none.",
  }),
  probeFullMeshLimit: integer({
    default: 32,
    min: 2,
    max: 1000,
    description: "Up to so many nodes every node probes every other one.",
  }),
  probePeers: integer({
    default: 10,
    min: 1,
    max: 200,
    description:
      "Peers of a node in larger clusters, beside one in each other zone; no node is probed by more than three times as many.",
  }),
  probeZonePeers: integer({
    default: 16,
    min: 0,
    max: 200,
    description: "Most zones that a node of a larger cluster has a representative of as a peer.",
  }),
  probeRotationMs: duration({
    default: 300_000,
    min: 0,
    max: 86_400_000,
    description:
      "In larger clusters one peer of each node is another one after so long, so that in time all pairs are seen; 0 = they all stay.",
  }),
  hmacKeysFile: text({
    default: null,
    description:
      "File of the keys that probe packets are signed with, made and replaced by the aggregator; probes on this machine read it as probe.hmacKeysFile. Without it, and without hmacKeysSecret, keys are nobody's but the probes' own settings'.",
  }),
  hmacKeysSecret: text({
    default: null,
    pattern: /[a-z0-9]([-a-z0-9]*[a-z0-9])?\/[a-z0-9]([-a-z0-9.]*[a-z0-9])?/,
    patternRule: "must be namespace/name of a Secret",
    description:
      "Kubernetes Secret (namespace/name) of the same keys; probes mount its entry hmac-keys as probe.hmacKeysFile. Only the elected replica writes it.",
  }),
  keyRotationMs: duration({
    default: 86_400_000,
    min: 0,
    max: 31_536_000_000,
    description: "Age at which a key is replaced; 0 = never.",
  }),
  keyConfirmMs: duration({
    default: 3_600_000,
    min: 0,
    max: 86_400_000,
    description:
      "How long replacing a key waits for probes that don't confirm that they hold it, or sign with it.",
  }),
  keyGraceMs: duration({
    default: 4000,
    min: 0,
    max: 3_600_000,
    description:
      "How long the old key is kept after all sign with the new one: at least twice probe.timeoutMs.",
  }),
  keyReportMaxAgeMs: duration({
    default: 60_000,
    min: 100,
    max: 86_400_000,
    description:
      "A probe that asked for its plan within this time is there, and replacing a key waits for it: some times probe.planRefreshMs.",
  }),
  keyCheckMs: duration({
    default: 5000,
    min: 50,
    max: 3_600_000,
    description: "How often the keys are read, and their replacement looked after.",
  }),
  bandwidthLeaseMs: duration({
    default: 30_000,
    min: 1000,
    max: 600_000,
    description: "How long a probe may take for a bandwidth test before another one may begin.",
  }),
  bandwidthTestBytes: bytes({
    default: 128 * 1024 * 1024,
    min: 1024,
    max: 1_099_511_627_776,
    description: "Most bytes that one bandwidth test may put on the wire.",
  }),
  bandwidthHourlyBytes: bytes({
    default: 1024 * 1024 * 1024,
    min: 0,
    max: 1_099_511_627_776,
    description: "Most bytes of an hour's bandwidth tests that a node sends or takes; 0 = no tests.",
  }),
  bandwidthPairIntervalMs: duration({
    default: 1_800_000,
    min: 0,
    max: 604_800_000,
    description: "Least time between two bandwidth tests from one node to another one.",
  }),
};

interface Checked {
  readonly hmacKeysFile: string | null;
  readonly hmacKeysSecret: string | null;
  readonly bandwidthTestBytes: number;
  readonly bandwidthHourlyBytes: number;
}

/** Rules across these settings. */
export const PROBING_RULES: readonly ((values: Checked) => string | null)[] = [
  ({ hmacKeysFile, hmacKeysSecret }) =>
    hmacKeysFile === null || hmacKeysSecret === null
      ? null
      : `aggregator.hmacKeysSecret must not be set together with aggregator.hmacKeysFile, got ${hmacKeysSecret} and ${hmacKeysFile}`,
  ({ bandwidthTestBytes, bandwidthHourlyBytes }) =>
    bandwidthHourlyBytes === 0 || bandwidthTestBytes <= bandwidthHourlyBytes
      ? null
      : `aggregator.bandwidthTestBytes must not exceed aggregator.bandwidthHourlyBytes (${bandwidthHourlyBytes}), got ${bandwidthTestBytes}`,
];
