import { X509Certificate } from "node:crypto";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { afterEach, describe, expect, test } from "vitest";
import { certificateSettings, type CertificateConfig } from "../http/certificate-settings.ts";
import { openOwnCertificates, type OwnCertificates } from "./own-certificates.ts";

const SECRET = { ...KINDS.secret, namespace: "isochrone", name: "isochrone-aggregator-certificates" };
const TRUSTED = { ...KINDS.configMap, namespace: "isochrone", name: "isochrone-aggregator-ca" };
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const HOSTS = ["isochrone-aggregator.isochrone.svc", "127.0.0.1"];

const running: OwnCertificates[] = [];
afterEach(() => Promise.all(running.splice(0).map((each) => each.stop())));

function ground() {
  const clock = new ManualClock();
  const store = createMemoryStore({ clock });
  const registry = createRegistry();
  const logger = new MemoryLogger();
  const config: CertificateConfig = {
    ...configOf({ secret: "isochrone/isochrone-aggregator-certificates", hosts: HOSTS }),
    checkMs: HOUR_MS,
    // Long enough for many checks: on a busy machine the clock advances before a check sees the change.
    trustDelayMs: 5 * DAY_MS,
  };
  const replica = (): OwnCertificates => {
    const around = { store, clock, logger, registry: createRegistry(), certFile: null };
    const opened = openOwnCertificates(config, around)!;
    running.push(opened);
    return opened;
  };
  const trusted = async (): Promise<string> =>
    ((await store.get(TRUSTED))!["data"] as Record<string, string>)["ca.crt"]!;
  /** Polls, because key generation takes real time that the test clock cannot advance. */
  const until = async (isSo: () => Promise<boolean> | boolean): Promise<void> => {
    const looked = async (): Promise<boolean> => {
      await clock.advance(HOUR_MS);
      return isSo();
    };
    await expect.poll(looked, { timeout: 10_000, interval: 5 }).toBe(true);
  };
  return { clock, store, registry, replica, trusted, until, config };
}

function configOf(certificates: Partial<CertificateConfig> = {}): CertificateConfig {
  return loadSettings([certificateSettings], { env: {}, overrides: { certificates } }).certificates;
}

const certOf = ({ cert }: { readonly cert: string }): X509Certificate => new X509Certificate(cert);
const isFrom = (cert: X509Certificate, authorities: string): boolean =>
  authorities
    .split(/(?<=-----END CERTIFICATE-----\n)/)
    .filter((pem) => pem.trim() !== "")
    .some((pem) => cert.verify(new X509Certificate(pem).publicKey));

describe("the aggregator's own certificates", () => {
  test("are made at the start, for its names, and tell in a ConfigMap whom to trust", async () => {
    const { replica, store, trusted } = ground();
    const own = replica();
    await own.start();
    const served = certOf(own.current());
    expect([served.checkHost(HOSTS[0]!), served.checkIP(HOSTS[1]!)]).toEqual(HOSTS);
    expect(isFrom(served, await trusted())).toBe(true);
    expect([own.trusted(), own.serverName]).toEqual([await trusted(), HOSTS[0]]);
    expect((await store.get(TRUSTED))!["data"]).toEqual({ "ca.crt": expect.not.stringContaining("KEY") });
    expect(((await store.get(SECRET)) as KubernetesObject)["type"]).toBe("Opaque");
  });

  test("are the same for replicas that start at one time", async () => {
    const { replica, until } = ground();
    const [one, other] = [replica(), replica()];
    let isStarted = false;
    const started = Promise.all([one.start(), other.start()]).then(() => (isStarted = true));
    await until(() => isStarted);
    await started;
    expect(one.current()).toEqual(other.current());
  });

  test("are renewed in time, and what was trusted stays so", async () => {
    const { replica, trusted, until, clock } = ground();
    const own = replica();
    await own.start();
    const [first, before] = [certOf(own.current()), await trusted()];
    await clock.advance(19 * DAY_MS);
    expect(certOf(own.current()).serialNumber).toBe(first.serialNumber);
    await until(() => certOf(own.current()).serialNumber !== first.serialNumber);
    const second = certOf(own.current());
    expect([isFrom(second, before), await trusted()]).toEqual([true, before]);
  });

  test("get a new authority only when the old ConfigMap has been replaced for long", async () => {
    const { replica, trusted, until, clock } = ground();
    const own = replica();
    await own.start();
    const before = await trusted();
    // Until a third of its lifetime is left and the next certificate exists.
    await clock.advance(243 * DAY_MS);
    await until(async () => (await trusted()).match(/BEGIN/g)!.length === 2);
    const both = await trusted();
    expect(isFrom(certOf(own.current()), before)).toBe(true);
    await until(() => !isFrom(certOf(own.current()), before));
    expect(isFrom(certOf(own.current()), both)).toBe(true);
    // Replicas that have not read the new certificate still serve the old one.
    expect((await trusted()).match(/BEGIN/g)).toHaveLength(2);
  });

  test("of which somebody has spoilt the ConfigMap are told of again", async () => {
    const { replica, store, trusted, until } = ground();
    await replica().start();
    const before = await trusted();
    await store.update({ ...(await store.get(TRUSTED))!, data: { "ca.crt": "none", other: "stays" } });
    await until(async () => (await trusted()) === before);
    expect((await store.get(TRUSTED))!["data"]).toEqual({ "ca.crt": before, other: "stays" });
  });

  test("are not made where none are wanted, nor where they can't be kept", () => {
    const { config, store, clock, registry } = ground();
    const around = { store, clock, registry, logger: new MemoryLogger(), certFile: null };
    expect(openOwnCertificates({ ...config, secret: null }, around)).toBeNull();
    expect(() => openOwnCertificates(config, { ...around, store: null })).toThrow(/without an API server/);
    expect(() => openOwnCertificates(config, { ...around, certFile: "tls.crt" })).toThrow(/tlsCertFile/);
  });
});
