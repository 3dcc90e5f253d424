// Decisions of a scheduler-plugin that requires client certificates, over real TLS.
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import type { Aggregator } from "@isochrone/aggregator/testing";
import { createMemoryBus } from "@isochrone/bus/memory";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger, TestAuthority, type TestCertificate } from "@isochrone/runtime/testing";
import { createSchedulerPlugin, schedulerPluginSettings } from "@isochrone/scheduler-plugin";
import type { SchedulerPlugin } from "@isochrone/scheduler-plugin/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

const HOST = "127.0.0.1";
const surroundings = () => ({
  clock: systemClock,
  random: systemRandom,
  logger: new MemoryLogger(),
  registry: createRegistry(),
});

describe("decisions behind client certificates", () => {
  let folder: string;
  let authority: TestAuthority;
  let plugin: SchedulerPlugin;
  let known: TestCertificate;
  let unnamed: TestCertificate;
  const aggregators: Aggregator[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "isochrone-decisions-"));
    authority = await TestAuthority.create(folder);
    known = await authority.issue("isochrone-aggregator");
    unnamed = await authority.issue("somebody");
    const { certFile: tlsCertFile, keyFile: tlsKeyFile } = await authority.issue("extender", [HOST]);
    const scheduler = {
      host: HOST,
      port: 0,
      graphUrl: "http://127.0.0.1:9",
      tlsCertFile,
      tlsKeyFile,
      tlsClientCaFile: authority.caFile,
      tlsClientNames: ["kube-scheduler", "isochrone-aggregator"],
    };
    const { scheduler: config } = loadSettings([schedulerPluginSettings], {
      env: {},
      overrides: { scheduler },
    });
    plugin = createSchedulerPlugin(config, surroundings());
    await plugin.start();
  });
  afterEach(async () => {
    for (const aggregator of aggregators.splice(0)) await aggregator.stop();
  });
  afterAll(async () => {
    await plugin?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function decisionsThrough(
    client: Partial<TestCertificate>,
  ): Promise<{ status: number; json: unknown }> {
    const aggregator = {
      host: HOST,
      port: 0,
      decisionsUrl: plugin.address().url,
      decisionsCaFile: authority.caFile,
      ...(client.certFile === undefined ? {} : { decisionsCertFile: client.certFile }),
      ...(client.keyFile === undefined ? {} : { decisionsKeyFile: client.keyFile }),
    };
    const { aggregator: config } = loadSettings([aggregatorSettings], { env: {}, file: { aggregator } });
    const bus = createMemoryBus({ clock: systemClock });
    const store = createMemoryStore({ clock: systemClock });
    const running = createAggregator(config, { ...surroundings(), bus, store });
    aggregators.push(running);
    await running.start();
    const answer = await fetch(`${running.address().url}/api/v1/decisions?limit=1`);
    return { status: answer.status, json: await answer.json() };
  }

  test("reach those whom the graph API lets in, by the aggregator's own certificate", async () => {
    expect(await decisionsThrough(known)).toMatchObject({ status: 200, json: { decisions: [] } });
  });

  test("don't without a certificate, nor with one of another name: that is no fault of the reader's", async () => {
    for (const client of [{}, unnamed]) {
      const { status, json } = await decisionsThrough(client);
      expect(status).toBe(502);
      expect(json).toMatchObject({
        code: "decisions_unreachable",
        detail: expect.stringContaining("must let this aggregator in"),
      });
    }
  });

  test("an expired certificate is named as the reason, and a replaced one is shown without a restart", async () => {
    const files = { certFile: join(folder, "mounted.crt"), keyFile: join(folder, "mounted.key") };
    const mount = async ({ certFile, keyFile }: TestCertificate): Promise<void> => {
      await copyFile(certFile, files.certFile);
      await copyFile(keyFile, files.keyFile);
    };
    await mount(await authority.issue("isochrone-aggregator", [], 0));
    await systemClock.sleep(1_100);
    const { status, json } = await decisionsThrough(files);
    expect(status).toBe(502);
    expect(json).toMatchObject({ detail: expect.stringContaining("the client certificate has expired") });
    const { url } = aggregators[0]!.address();
    const endOf = async (): Promise<number> => {
      const page = await (await fetch(`${url}/metrics`)).text();
      return Number(
        /^isochrone_tls_client_certificate_not_after_seconds\{server="decisions"\} (\d+)/m.exec(page)?.[1],
      );
    };
    expect(await endOf()).toBeLessThanOrEqual(Date.now() / 1000);

    await mount(await authority.issue("isochrone-aggregator"));
    // The services reread files every few seconds.
    await expect
      .poll(async () => (await fetch(`${url}/api/v1/decisions?limit=1`)).status, {
        timeout: 20_000,
        interval: 500,
      })
      .toBe(200);
    expect(await endOf()).toBeGreaterThan(Date.now() / 1000 + 3_600);
  });
});
