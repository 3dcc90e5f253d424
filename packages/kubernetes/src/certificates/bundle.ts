// A server's certificates in a Secret shared by its replicas.
import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { entriesOf, looseFields, looseText } from "@isochrone/primitives";
import type { KubernetesObject } from "../store/port.ts";

export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

export type Authority = KeyPair;

/**
 * An authority is replaced in three steps, so that clients always trust every replica: `next` is created and
 * trusted in addition; once all clients know it, it signs as `authority`; `previous` stays trusted, without
 * its key, until it expires.
 */
export interface CertificateBundle {
  readonly authority: Authority;
  readonly next: Authority | null;
  readonly previous: string | null;
  readonly serving: KeyPair;
}

export type CertificateStep = "create" | "prepare" | "switch" | "renew" | "retire";

export interface CertificateRules {
  readonly hosts: readonly string[];
  readonly certificateLifetimeMs: number;
  readonly authorityLifetimeMs: number;
}

/** Remaining share of the lifetime that triggers renewal. */
export const RENEW_AT = 1 / 3;

/** @param isNextTrusted whether the next authority has been published long enough */
export function nextStep(
  bundle: CertificateBundle | null,
  rules: CertificateRules,
  nowMs: number,
  isNextTrusted: boolean,
): CertificateStep | null {
  if (bundle === null || leftMs(bundle.authority.certificate, nowMs) <= 0) return "create";
  const { authority, next, previous, serving } = bundle;
  if (next !== null && isNextTrusted) return "switch";
  const isOld = (certificate: string, lifetimeMs: number): boolean =>
    leftMs(certificate, nowMs) < lifetimeMs * RENEW_AT;
  if (next === null && isOld(authority.certificate, rules.authorityLifetimeMs)) return "prepare";
  // A certificate can't outlive its authority, so renewing would gain nothing.
  const isLimited = leftMs(serving.certificate, nowMs) >= leftMs(authority.certificate, nowMs) - 1000;
  if ((isOld(serving.certificate, rules.certificateLifetimeMs) && !isLimited) || !isFor(serving, rules.hosts))
    return "renew";
  return previous !== null && leftMs(previous, nowMs) <= 0 ? "retire" : null;
}

export function trustedBy({ authority, next, previous }: CertificateBundle): string {
  return [authority.certificate, next?.certificate ?? null, previous]
    .filter((pem) => pem !== null)
    .map((pem) => `${pem.trim()}\n`)
    .join("");
}

/** Returns the end of validity, ms since the epoch. */
export function expiryMs(certificate: string): number {
  return Date.parse(new X509Certificate(certificate).validTo);
}

const KEYS = {
  authority: ["ca.crt", "ca.key"],
  next: ["next-ca.crt", "next-ca.key"],
  serving: ["tls.crt", "tls.key"],
} as const;
const FORMER = "former-ca.crt";

export function dataOf({ authority, next, previous, serving }: CertificateBundle): Record<string, string> {
  const texts: Record<string, string> = previous === null ? {} : { [FORMER]: previous };
  for (const [name, pair] of entriesOf({ authority, next, serving })) {
    if (pair === null) continue;
    const [certificate, key] = KEYS[name];
    texts[certificate] = pair.certificate;
    texts[key] = pair.key;
  }
  return Object.fromEntries(
    Object.entries(texts).map(([name, value]) => [name, Buffer.from(value).toString("base64")]),
  );
}

/** Reads certificates from a Secret. Null: it has no usable ones. */
export function bundleOf(secret: KubernetesObject | null): CertificateBundle | null {
  const data = looseFields(secret?.data);
  const textOf = (name: string): string => Buffer.from(looseText(data[name]), "base64").toString();
  const pairOf = (name: keyof typeof KEYS): KeyPair | null => {
    const [certificate, key] = KEYS[name];
    return usablePair({ certificate: textOf(certificate), key: textOf(key) });
  };
  const authority = pairOf("authority");
  const serving = pairOf("serving");
  if (authority === null || serving === null) return null;
  const previous = textOf(FORMER);
  return { authority, serving, next: pairOf("next"), previous: isCertificate(previous) ? previous : null };
}

/** Returns the pair if its key fits its certificate, else null. */
export function usablePair(pair: KeyPair): KeyPair | null {
  try {
    const fits = new X509Certificate(pair.certificate).checkPrivateKey(createPrivateKey(pair.key));
    return fits ? pair : null;
  } catch {
    return null;
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).validTo !== "";
  } catch {
    return false;
  }
}

function isFor({ certificate }: KeyPair, hosts: readonly string[]): boolean {
  const read = new X509Certificate(certificate);
  return hosts.every((host) => (isIP(host) === 0 ? read.checkHost(host) : read.checkIP(host)) !== undefined);
}

function leftMs(certificate: string, nowMs: number): number {
  return expiryMs(certificate) - nowMs;
}
