// The aggregator's settings of probing: whom probes measure, the keys that they sign with, and bandwidth
// tests.
import { bytes, constant, derived, integer, text } from "@isochrone/runtime";

/** A part of the aggregator's section. */
export const PROBING_SETTINGS = {
  probeUdpPort: integer({
    default: 7411,
    min: 1,
    max: 65_535,
    description: "UDP and TCP port of the probes' responders.",
  }),
  probeTcpPort: derived(
    ({ probeUdpPort }: { readonly probeUdpPort: number }) => probeUdpPort,
    "It is aggregator.probeUdpPort.",
  ),
  probeBandwidthPort: integer({
    default: 7413,
    min: 0,
    max: 65_535,
    description: "Port on which probes take bandwidth bursts; 0 = they take none.",
  }),
  probePeers: integer({
    default: 10,
    min: 1,
    max: 200,
    description:
      "Peers of a node in larger clusters, beside one in each other zone; no node is probed by more than three times as many.",
  }),
  probeFullMeshLimit: derived(
    ({ probePeers }: { readonly probePeers: number }) => 3 * probePeers + 2,
    "Up to so many nodes no node is probed by more than in a larger cluster.",
  ),
  probeZonePeers: constant(
    16,
    "A node needs one peer in each zone; it is a bound for clusters with many zones.",
  ),
  probeRotationMs: constant(
    300_000,
    "It is the default of aggregator.windowMs: a peer is measured for one window.",
  ),
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
  keyRotationMs: constant(
    86_400_000,
    "Keys are replaced without a gap: a day is short for a thief, and costs nothing.",
  ),
  keyConfirmMs: constant(3_600_000, "Kubelets renew mounted Secrets within minutes; an hour leaves room."),
  keyGraceMs: constant(4000, "It is twice the time after which a packet is lost."),
  keyReportMaxAgeMs: constant(60_000, "It is four times the interval at which probes ask for their plan."),
  keyCheckMs: constant(5000, "No documented case changes this default; replacing a key takes minutes."),
  bandwidthLeaseMs: constant(30_000, "It is a bound for tests that never end."),
  bandwidthTestBytes: constant(
    128 * 1024 * 1024,
    "It is about a tenth of a second of a link of 10 Gbit/s; aggregator.bandwidthHourlyBytes is the budget.",
  ),
  bandwidthHourlyBytes: bytes({
    default: 1024 * 1024 * 1024,
    min: 0,
    max: 1_099_511_627_776,
    description: "Most bytes of an hour's bandwidth tests that a node sends or takes; 0 = no tests.",
  }),
  bandwidthPairIntervalMs: constant(1_800_000, "aggregator.bandwidthHourlyBytes is the budget."),
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
      : `aggregator.bandwidthHourlyBytes must be 0 or at least what one test may take (${bandwidthTestBytes}), got ${bandwidthHourlyBytes}`,
];
