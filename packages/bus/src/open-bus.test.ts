import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { createRegistry, loadSettings, systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { describe, expect, it } from "vitest";

import { kafkaOptions, openBus, openPublisher } from "./open-bus.ts";
import { busSettings } from "./settings.ts";
import type { BusSettings } from "./settings.ts";

const surroundings = (): {
  clock: typeof systemClock;
  random: typeof systemRandom;
  logger: MemoryLogger;
  registry: ReturnType<typeof createRegistry>;
} => ({ clock: systemClock, random: systemRandom, logger: new MemoryLogger(), registry: createRegistry() });

const load = (bus: Readonly<Record<string, unknown>> = {}): BusSettings =>
  loadSettings([busSettings], { env: {}, file: { bus } }).bus;

const KAFKA = { kind: "kafka", brokers: ["127.0.0.1:1"], requestTimeoutMs: 200 };

/** An unreachable aggregator. */
const recordKey = {
  aggregatorUrl: "http://127.0.0.1:1",
  speaker: { kind: "node", node: "node-a" },
  fetch: async (): Promise<Response> => Promise.reject(new Error("connection refused")),
} as const;

describe("opening the bus", () => {
  it("gives the aggregator a bus inside its process where there is no Kafka", async () => {
    const { bus, service } = await openBus(load(), { ...surroundings(), memory: { partitions: 2 } });
    const texts: string[] = [];
    await bus.subscribe({
      topics: ["t"],
      from: "latest",
      onBatch: async ({ records }) => void texts.push(...records.map(({ key }) => key)),
    });
    await bus.publish("t", [{ key: "node-a", value: new Uint8Array(1), headers: {} }]);
    await expect.poll(() => texts).toEqual(["node-a"]);
    await service.start();
    await service.stop();
    await expect(
      bus.publish("t", [{ key: "k", value: new Uint8Array(1), headers: {} }]),
    ).rejects.toMatchObject({
      code: "closed",
    });
  });

  it("gives probes and collectors a publisher that posts", async () => {
    const otlpHttp = { url: "http://127.0.0.1:1/v1/metrics" };
    const { bus } = await openPublisher(load(), { ...surroundings(), otlpHttp, recordKey });
    const record = { key: "node-a", value: new Uint8Array(1), headers: {} };
    await expect(bus.publish("t", [record])).rejects.toThrow(otlpHttp.url);
  });

  it.each([
    [{ kind: "otlp-http" }, []],
    [{ ...KAFKA, client: "platformatic" }, ["@platformatic/kafka"]],
    [{ ...KAFKA, client: "kafkajs" }, ["kafkajs"]],
  ])("loads no Kafka client but the one that the settings name: %j", async (bus, libraries) => {
    expect(await loadedBy(bus)).toEqual(libraries);
  });

  it.each(["platformatic", "kafkajs"])("publishes by %s when the settings say Kafka", async (client) => {
    const otlpHttp = { url: "http://127.0.0.1:1/v1/metrics" };
    const { bus, service } = await openPublisher(load({ ...KAFKA, client }), {
      ...surroundings(),
      otlpHttp,
      recordKey,
    });
    const abort = AbortSignal.timeout(500);
    const record = { key: "node-a", value: new Uint8Array(1), headers: {} };
    const refusal = await bus.publish("t", [record], { signal: abort }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ name: "BusError" });
    expect((refusal as Error).message).not.toContain(otlpHttp.url);
    await service.stop();
  });

  it("publishes nothing unsealed when records are to be sealed: it waits for the key", async () => {
    const otlpHttp = { url: "http://127.0.0.1:1/v1/metrics" };
    const sealing = load({ ...KAFKA, sealRecords: true });
    const { bus, service } = await openPublisher(sealing, { ...surroundings(), otlpHttp, recordKey });
    await service.start();
    const record = { key: "node-a", value: new Uint8Array(1), headers: {} };
    await expect(bus.publish("t", [record])).rejects.toMatchObject({
      code: "unavailable",
      retryable: true,
      message: "the aggregator has not given the record key of node/node-a yet",
    });
    await service.stop();
  });

  it.each(["caFile", "certFile", "keyFile", "saslPasswordFile"])("names a %s that can't be read", (name) => {
    const here = import.meta.filename;
    const files = {
      tls: true,
      caFile: here,
      certFile: here,
      keyFile: here,
      saslMechanism: "scram-sha-512",
      saslUsername: "u",
      saslPasswordFile: here,
    };
    expect(kafkaOptions(load({ ...KAFKA, ...files }), surroundings())).toMatchObject({
      sasl: { username: "u" },
    });
    const settings = load({ ...KAFKA, ...files, [name]: "/nowhere/file" });
    expect(() => kafkaOptions(settings, surroundings())).toThrow(
      `bus.${name} must name a file that can be read, got /nowhere/file`,
    );
  });
});

async function loadedBy(bus: object): Promise<string[]> {
  const script = `
    import { registerHooks } from "node:module";
    const loaded = new Set();
    registerHooks({
      load(url, context, next) {
        const found = /node_modules\\/(kafkajs|@platformatic\\/kafka)\\//.exec(url);
        if (found) loaded.add(found[1]);
        return next(url, context);
      },
    });
    const { openPublisher } = await import(${JSON.stringify(new URL("open-bus.ts", import.meta.url).href)});
    const { busSettings } = await import(${JSON.stringify(new URL("settings.ts", import.meta.url).href)});
    const { createRegistry, loadSettings, systemClock, systemRandom } = await import("@isochrone/runtime");
    const settings = loadSettings([busSettings], { env: {}, file: { bus: ${JSON.stringify(bus)} } }).bus;
    const surroundings = { clock: systemClock, random: systemRandom, registry: createRegistry() };
    const otlpHttp = { url: "http://127.0.0.1:1/v1/metrics" };
    const opened = await openPublisher(settings, { ...surroundings, otlpHttp });
    const record = { key: "node-a", value: new Uint8Array(1), headers: {} };
    await opened.bus.publish("t", [record], { signal: AbortSignal.timeout(200) }).catch(() => undefined);
    await opened.service.stop();
    console.log(JSON.stringify([...loaded]));
    process.exit();
  `;
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], {
    cwd: import.meta.dirname,
    timeout: 120_000,
  });
  return JSON.parse(stdout) as string[];
}
