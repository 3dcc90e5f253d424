// Settings of every service of which several replicas may run: how they are told apart, and elect one.
import { duration, text } from "@isochrone/runtime";
import type { Random } from "@isochrone/runtime";
import type { ElectionTiming } from "./lease-options.ts";

export const REPLICA_SETTINGS = {
  replicaName: text({
    default: null,
    pattern: /[a-z0-9]([a-z0-9.-]*[a-z0-9])?/,
    patternRule: "must be lower-case letters, digits, dots and dashes, as the name of a pod",
    maxLength: 200,
    description:
      "Name of this replica among several, usually its pod's. Without it this is the only one: it leads, and no Lease is used.",
  }),
  replicaNamespace: text({
    default: "isochrone",
    description:
      "Own namespace: of the Leases by which replicas elect one and know each other, and of the probes.",
  }),
  leaseDurationMs: duration({
    default: 15_000,
    min: 1000,
    max: 600_000,
    description: "How long after its last sign of life a leader is replaced.",
  }),
  leaseRenewDeadlineMs: duration({
    default: 10_000,
    min: 500,
    max: 600_000,
    description: "How long a leader that can't renew its Lease goes on leading.",
  }),
  leaseRetryPeriodMs: duration({
    default: 2000,
    min: 100,
    max: 600_000,
    description: "How often the Lease is renewed, or looked at.",
  }),
};

interface LeaseTimes {
  readonly leaseDurationMs: number;
  readonly leaseRenewDeadlineMs: number;
  readonly leaseRetryPeriodMs: number;
}

/** Rules of these settings together, in a section of that name. */
export function replicaRules(section: string): ((times: LeaseTimes) => string | null)[] {
  return [
    ({ leaseDurationMs, leaseRenewDeadlineMs }) =>
      leaseRenewDeadlineMs < leaseDurationMs
        ? null
        : `${section}.leaseRenewDeadlineMs must be below ${section}.leaseDurationMs (${leaseDurationMs}), got ${leaseRenewDeadlineMs}`,
    ({ leaseRenewDeadlineMs, leaseRetryPeriodMs }) =>
      2 * leaseRetryPeriodMs <= leaseRenewDeadlineMs
        ? null
        : `${section}.leaseRetryPeriodMs must be at most half of ${section}.leaseRenewDeadlineMs (${leaseRenewDeadlineMs}), got ${leaseRetryPeriodMs}`,
  ];
}

/** The election's times as those settings say them. */
export function electionTiming(times: LeaseTimes): ElectionTiming {
  const { leaseDurationMs, leaseRenewDeadlineMs: renewDeadlineMs, leaseRetryPeriodMs: retryPeriodMs } = times;
  return { leaseDurationMs, renewDeadlineMs, retryPeriodMs };
}

/** Identity of this life of a replica: one that was restarted must not be taken for the one that held the Lease before. */
export function identityOfLife(replica: string, random: Random): string {
  return `${replica}_${Math.floor(random.next() * 2 ** 48).toString(36)}`;
}
