// Settings of every service of which several replicas may run: how they are told apart, and elect one.
import { constant, text, type Random } from "@isochrone/runtime";
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
  replicaNamespace: constant<string>("isochrone", "It is kubernetes.namespace, else the pod's own."),
  leaseDurationMs: constant(15_000, "It is the default of Kubernetes' own components."),
  leaseRenewDeadlineMs: constant(10_000, "It is the default of Kubernetes' own components."),
  leaseRetryPeriodMs: constant(2000, "It is the default of Kubernetes' own components."),
};

interface LeaseTimes {
  readonly leaseDurationMs: number;
  readonly leaseRenewDeadlineMs: number;
  readonly leaseRetryPeriodMs: number;
}

/** The election's times as those settings say them. */
export function electionTiming(times: LeaseTimes): ElectionTiming {
  const { leaseDurationMs, leaseRenewDeadlineMs: renewDeadlineMs, leaseRetryPeriodMs: retryPeriodMs } = times;
  return { leaseDurationMs, renewDeadlineMs, retryPeriodMs };
}

/**
 * Identity of this life of a replica: one that was restarted must not be taken for the one that held the
 * Lease before.
 */
export function identityOfLife(replica: string, random: Random): string {
  return `${replica}_${Math.floor(random.next() * 2 ** 48).toString(36)}`;
}
