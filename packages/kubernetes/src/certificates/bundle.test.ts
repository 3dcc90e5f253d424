import { X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { KINDS } from "../kinds.ts";
import type { KubernetesObject } from "../store/port.ts";
import { bundleOf, dataOf, expiryMs, nextStep, trustedBy } from "./bundle.ts";
import type { CertificateBundle } from "./bundle.ts";
import { issueCertificate, makeAuthority } from "./x509.ts";

const DAY_MS = 86_400_000;
const START_MS = Date.parse("2026-01-01T00:00:00Z");
const RULES = {
  hosts: ["plugin.isochrone.svc", "10.0.0.7"],
  certificateLifetimeMs: 30 * DAY_MS,
  authorityLifetimeMs: 365 * DAY_MS,
};
const validFor = (days: number, fromDay = 0) => ({
  notBeforeMs: START_MS + (fromDay - 1) * DAY_MS,
  notAfterMs: START_MS + (fromDay + days) * DAY_MS,
});
const authority = await makeAuthority("first", validFor(365));
const next = await makeAuthority("first", validFor(365, 250));
const serving = await issueCertificate(authority, RULES.hosts, validFor(30));
const late = await issueCertificate(next, RULES.hosts, validFor(30, 360));
const FRESH: CertificateBundle = { authority, next: null, previous: null, serving };
const step = (bundle: CertificateBundle | null, day: number, isNextTrusted = false) =>
  nextStep(bundle, RULES, START_MS + day * DAY_MS, isNextTrusted);

describe("a certificate", () => {
  test("is the authority's, for its hosts, and for servers alone", () => {
    const read = new X509Certificate(serving.certificate);
    expect(read.verify(new X509Certificate(authority.certificate).publicKey)).toBe(true);
    expect(read.verify(new X509Certificate(next.certificate).publicKey)).toBe(false);
    expect([read.checkHost(RULES.hosts[0]!), read.checkIP("10.0.0.7"), read.checkHost("other")]).toEqual([
      RULES.hosts[0],
      "10.0.0.7",
      undefined,
    ]);
    expect([read.ca, read.keyUsage]).toEqual([false, ["1.3.6.1.5.5.7.3.1"]]);
    expect(expiryMs(serving.certificate)).toBe(START_MS + 30 * DAY_MS);
  });
});

describe("the next step", () => {
  test.each<[string, CertificateBundle | null, number, boolean, string | null]>([
    ["of nothing is to make all", null, 0, false, "create"],
    ["of what is fresh is none", FRESH, 0, false, null],
    ["with more than a third left is none", FRESH, 19.9, false, null],
    ["with less than a third left is to renew", FRESH, 20.1, false, "renew"],
    ["after the certificate's end is to renew", FRESH, 31, false, "renew"],
    ["of an authority with less than a third left is to prepare another", FRESH, 244, false, "prepare"],
    ["after the authority's end is to make all anew", FRESH, 366, false, "create"],
    ["of one that is prepared is to wait until it is trusted", { ...FRESH, next }, 19, false, null],
    ["of one that is trusted is to switch", { ...FRESH, next }, 251, true, "switch"],
    [
      "of a former authority that is over is to retire it",
      { ...FRESH, authority: next, previous: authority.certificate, serving: late },
      366,
      false,
      "retire",
    ],
    ["of one that is still good is none", { ...FRESH, previous: next.certificate }, 0, false, null],
  ])("%s", (_, bundle, day, isNextTrusted, expected) => {
    expect(step(bundle, day, isNextTrusted)).toBe(expected);
  });

  test("for another host is to renew", () => {
    expect(nextStep(FRESH, { ...RULES, hosts: ["else.isochrone.svc"] }, START_MS, false)).toBe("renew");
  });

  test("of a certificate that lives as long as its authority is not to renew it for ever", async () => {
    const limited = await issueCertificate(authority, RULES.hosts, validFor(5, 360));
    expect(step({ ...FRESH, next, serving: limited }, 361)).toBeNull();
  });
});

describe("the Secret", () => {
  const secretOf = (data: object): KubernetesObject => ({ ...KINDS.secret, metadata: { name: "s" }, data });

  test("gives back what was written, and trusts all authorities", () => {
    const bundle = { ...FRESH, next, previous: next.certificate };
    expect(bundleOf(secretOf(dataOf(bundle)))).toEqual(bundle);
    expect(trustedBy(bundle).match(/BEGIN CERTIFICATE/g)).toHaveLength(3);
    expect(trustedBy(FRESH).trim()).toBe(authority.certificate.trim());
  });

  test.each<[string, object]>([
    ["nothing", {}],
    ["no data", { data: 5 }],
    [
      "a key that is another's",
      { ...dataOf(FRESH), "tls.key": dataOf({ ...FRESH, serving: next })["tls.key"] },
    ],
    ["no authority's key", { ...dataOf(FRESH), "ca.key": "" }],
    ["what is no certificate", { ...dataOf(FRESH), "tls.crt": "bm9uZQ==" }],
    ["fields of wrong types", { ...dataOf(FRESH), "tls.crt": 7 }],
  ])("that holds %s counts as empty", (_, data) => {
    expect(bundleOf(secretOf(data))).toBeNull();
    expect(bundleOf(null)).toBeNull();
  });

  test("of which only the next or the former authority is spoilt goes on without it", () => {
    const data = {
      ...dataOf({ ...FRESH, next, previous: next.certificate }),
      "next-ca.key": "x",
      "former-ca.crt": "x",
    };
    expect(bundleOf(secretOf(data))).toEqual(FRESH);
  });
});
