import { KINDS } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { ManualClock, TestAuthority } from "@isochrone/runtime/testing";
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { clientPair, publishedAuthorities, writeClientPair } from "./cluster-certificates.ts";

const SERVICE = { namespace: "isochrone", name: "isochrone-scheduler-plugin" };

async function ground() {
  const folder = await mkdtemp(join(tmpdir(), "isochrone-scheduler-config-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const authority = await TestAuthority.create(folder);
  const { certFile, keyFile } = await authority.issue("kube-scheduler");
  const pair = { certificate: await readFile(certFile, "utf8"), key: await readFile(keyFile, "utf8") };
  const store = createMemoryStore({ clock: new ManualClock() });
  const secret = (certificate: string, key: string): Promise<unknown> => {
    const data = { "tls.crt": certificate, "tls.key": key };
    return store.create({
      ...KINDS.secret,
      metadata: { namespace: "isochrone", name: "isochrone-scheduler-plugin-kube-scheduler" },
      data: Object.fromEntries(
        Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString("base64")]),
      ),
    });
  };
  return { folder, authority, pair, store, secret };
}

describe("what the cluster has for kube-scheduler", () => {
  test("is the authority that the scheduler-plugin publishes", async () => {
    const { store } = await ground();
    expect(await publishedAuthorities(store, SERVICE)).toBeNull();
    await store.create({
      ...KINDS.configMap,
      metadata: { namespace: "isochrone", name: "isochrone-scheduler-plugin-ca" },
      data: { "ca.crt": "PEM" },
    });
    expect(await publishedAuthorities(store, SERVICE)).toBe("PEM");
  });

  test("is a client certificate and its key, which only their owner may read on this machine", async () => {
    const { folder, store, pair, secret } = await ground();
    await secret(pair.certificate, pair.key);
    const target = join(folder, "client");
    const { certFile, keyFile } = await writeClientPair(target, await clientPair(store, SERVICE));
    expect([certFile, keyFile]).toEqual([join(target, "tls.crt"), join(target, "tls.key")]);
    expect(await readFile(certFile, "utf8")).toBe(pair.certificate);
    expect((await stat(keyFile)).mode & 0o777).toBe(0o600);
    expect((await stat(target)).mode & 0o777).toBe(0o700);
    await writeFile(keyFile, "old");
    await chmod(keyFile, 0o644);
    await writeClientPair(target, pair);
    expect([(await stat(keyFile)).mode & 0o777, await readFile(keyFile, "utf8")]).toEqual([0o600, pair.key]);
  });

  test("is named when it isn't there, or can't be used", async () => {
    const { authority, store, pair, secret } = await ground();
    await expect(clientPair(store, SERVICE)).rejects.toThrow(
      /Secret isochrone\/isochrone-scheduler-plugin-kube-scheduler, which the scheduler-plugin makes .* there is none/,
    );
    const other = await readFile((await authority.issue("other")).keyFile, "utf8");
    await secret(pair.certificate, other);
    await expect(clientPair(store, SERVICE)).rejects.toThrow(/a key in tls\.key that fits tls\.crt/);
  });
});
