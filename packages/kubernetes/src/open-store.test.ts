import { loadSettings, seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { openStore } from "./open-store.ts";
import type { OpenedStore } from "./open-store.ts";
import { KINDS } from "./kinds.ts";
import { kubernetesSettings } from "./settings.ts";

const POD = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: "1" };

describe("openStore", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "isochrone-kubeconfig-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const open = (
    settings: Readonly<Record<string, unknown>> = {},
    env: Readonly<Record<string, string>> = {},
  ): Promise<OpenedStore | null> => {
    const clock = new ManualClock();
    const config = loadSettings([kubernetesSettings], { env: {}, file: { kubernetes: settings } }).kubernetes;
    const logger = new MemoryLogger({ clock });
    return openStore(config, { clock, random: seededRandom(1), logger, env, service: "test" });
  };
  const kubeconfig = async (namespace?: string): Promise<string> => {
    const file = join(folder, "config");
    const config = {
      apiVersion: "v1",
      kind: "Config",
      "current-context": "c",
      clusters: [{ name: "k", cluster: { server: "https://127.0.0.1:1" } }],
      contexts: [{ name: "c", context: { cluster: "k", user: "u", namespace } }],
      users: [{ name: "u", user: { token: "t" } }],
    };
    await writeFile(file, JSON.stringify(config));
    return file;
  };

  it("opens nothing where there is no cluster", async () => {
    expect(await open()).toBeNull();
  });

  it("takes the kubeconfig before the pod it runs in, and its namespace unless one is set", async () => {
    const file = await kubeconfig("team");
    expect((await open({ kubeconfig: file }, POD))?.namespace).toBe("team");
    expect((await open({ kubeconfig: file, namespace: "own" }))?.namespace).toBe("own");
    expect((await open({ kubeconfig: await kubeconfig() }))?.namespace).toBe("isochrone");
    expect((await open({}, POD))?.namespace).toBe("isochrone");
  });

  it("refuses a kubeconfig that isn't there, by its name", async () => {
    await expect(open({ kubeconfig: join(folder, "none") })).rejects.toThrow("none");
  });

  it("closes the store with its service: what is asked then is refused at once", async () => {
    const opened = (await open({ kubeconfig: await kubeconfig() }))!;
    await opened.part.service?.stop?.();
    await expect(opened.store.list(KINDS.node)).rejects.toMatchObject({ code: "unavailable" });
  });
});

describe("settings of the API server", () => {
  const load = (kubernetes: Readonly<Record<string, unknown>>): unknown =>
    loadSettings([kubernetesSettings], { env: {}, file: { kubernetes } }).kubernetes;

  it("need nothing", () => {
    expect(load({})).toMatchObject({ kubeconfig: null, namespace: null, qps: 50, burst: 100, pageSize: 500 });
  });

  it("allow twice the rate at once", () => {
    expect(load({ qps: 200 })).toMatchObject({ qps: 200, burst: 400 });
  });

  it.each([
    [{ qps: 0 }, "must be at least 1, got 0"],
    [{ namespace: "A" }, "must be an RFC 1123 label"],
  ])("%j are refused", (settings, message) => {
    expect(() => load(settings)).toThrow(message);
  });
});
