import type { KubernetesObject, LeaseSpec } from "../kinds.ts";
import { looseFields } from "@isochrone/primitives";

/** Annotation of a Lease: address of its holder. */
export const LEASE_URL_ANNOTATION = "isochrone.dev/url";

export interface LeaseHolder {
  readonly identity: string;
  /** Holder's base address. Null: not given. */
  readonly url: string | null;
}

/** The parts of a Lease that others rely on. Malformed fields count as absent. */
export interface LeaseRecord {
  readonly holder: LeaseHolder | null;
  /** Validity of the lease without renewal. Null: not given. */
  readonly durationMs: number | null;
  readonly acquireTime: string | null;
  readonly transitions: number;
  /** Text that changes with every renewal. */
  readonly fingerprint: string;
}

interface LeaseTerm {
  readonly identity: string;
  readonly url: string | null;
  readonly durationMs: number;
  readonly labels: Readonly<Record<string, string>>;
}

export function readLease({ metadata, spec }: KubernetesObject): LeaseRecord {
  const {
    holderIdentity,
    leaseDurationSeconds: seconds,
    leaseTransitions: transitions,
    acquireTime,
    renewTime,
  } = looseFields<LeaseSpec>(spec);
  const identity = textOf(holderIdentity);
  return {
    holder:
      identity === null ? null : { identity, url: metadata.annotations?.[LEASE_URL_ANNOTATION] ?? null },
    durationMs: isCount(seconds) && seconds > 0 ? seconds * 1000 : null,
    acquireTime: textOf(acquireTime),
    transitions: isCount(transitions) ? transitions : 0,
    fingerprint: JSON.stringify([identity, seconds, acquireTime, renewTime, transitions]),
  };
}

export function heldLease(lease: KubernetesObject, term: LeaseTerm, stamp: string): KubernetesObject {
  const { holder, acquireTime, transitions } = readLease(lease);
  const isOwn = holder?.identity === term.identity;
  const isFirst = lease.metadata.resourceVersion === undefined;
  const annotations = { ...lease.metadata.annotations };
  delete annotations[LEASE_URL_ANNOTATION];
  if (term.url !== null) annotations[LEASE_URL_ANNOTATION] = term.url;
  return {
    ...lease,
    metadata: { ...lease.metadata, labels: { ...lease.metadata.labels, ...term.labels }, annotations },
    spec: {
      ...lease.spec,
      holderIdentity: term.identity,
      // Rounded up: others must not consider the holder gone too early.
      leaseDurationSeconds: Math.ceil(term.durationMs / 1000),
      acquireTime: isOwn ? (acquireTime ?? stamp) : stamp,
      renewTime: stamp,
      leaseTransitions: isOwn || isFirst ? transitions : transitions + 1,
    },
  };
}

/** A released Lease as in client-go, without a wait for others. */
export function releasedLease(lease: KubernetesObject, stamp: string): KubernetesObject {
  const { [LEASE_URL_ANNOTATION]: _, ...annotations } = lease.metadata.annotations ?? {};
  return {
    ...lease,
    metadata: { ...lease.metadata, annotations },
    spec: {
      ...lease.spec,
      holderIdentity: "",
      leaseDurationSeconds: 1,
      acquireTime: stamp,
      renewTime: stamp,
    },
  };
}

/**
 * Kubernetes' MicroTime. The last three digits count, so that renewals differ even if the wall clock repeats.
 */
export function microTime(wallMs: number, count: number): string {
  const micros = String(count % 1000).padStart(3, "0");
  return `${new Date(wallMs).toISOString().slice(0, 23)}${micros}Z`;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
