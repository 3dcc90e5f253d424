import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { Consumer, Producer, stringDeserializers, stringSerializers } from "@platformatic/kafka";
import { describe, expect, onTestFinished, test } from "vitest";
import type { TestContext } from "vitest";
import { makeOnce } from "../harness/common/cache.ts";
import { kafkaSupport, startKafka, type KafkaCluster, type KafkaOptions } from "../harness/kafka/index.ts";

const support = kafkaSupport();
const PROGRAM = join(import.meta.dirname, "../harness/kafka/start-and-wait.ts");

interface Login {
  readonly ca: string;
  readonly username: string;
  readonly password: string;
}

async function cluster({ onTestFinished }: TestContext, options: KafkaOptions): Promise<KafkaCluster> {
  const kafka = await startKafka({ heapMegabytes: 128, ...options });
  onTestFinished(() => kafka.close());
  return kafka;
}

function connection(brokers: readonly string[], login: Login | null): object {
  const base = { clientId: "test", bootstrapBrokers: [...brokers], connectTimeout: 1500, timeout: 5000 };
  if (login === null) return base;
  const { ca, username, password } = login;
  return { ...base, tls: { ca }, sasl: { mechanism: "SCRAM-SHA-512", username, password } };
}

async function produce(
  brokers: readonly string[],
  topic: string,
  values: readonly string[],
  { login = null, retries = 20 }: { login?: Login | null; retries?: number } = {},
): Promise<void> {
  const producer = new Producer<string, string, string, string>({
    ...(connection(brokers, login) as { clientId: string; bootstrapBrokers: string[] }),
    serializers: stringSerializers,
    retries,
    retryDelay: 250,
  });
  try {
    await producer.send({ acks: -1, messages: values.map((value) => ({ topic, key: value, value })) });
  } finally {
    await producer.close();
  }
}

/** Distinct values, sorted, because a plain producer that retries may write one twice. */
async function consume(
  brokers: readonly string[],
  topic: string,
  count: number,
  login: Login | null = null,
): Promise<string[]> {
  const consumer = new Consumer<string, string, string, string>({
    ...(connection(brokers, login) as { clientId: string; bootstrapBrokers: string[] }),
    groupId: `test-${Math.random()}`,
    deserializers: stringDeserializers,
    maxWaitTime: 100,
    retries: 20,
    retryDelay: 250,
  });
  const values = new Set<string>();
  const stream = await consumer.consume({ topics: [topic], mode: "earliest", autocommit: false });
  for await (const message of stream) {
    values.add(message.value);
    if (values.size === count) break;
  }
  await consumer.close(true);
  return [...values].toSorted();
}

async function complaint(failing: Promise<unknown>): Promise<string> {
  const all = (error: unknown): string => {
    if (!(error instanceof Error)) return "";
    const inner = error instanceof AggregateError ? error.errors : [];
    return [error.message, ...inner.map(all), all(error.cause)].join("; ");
  };
  try {
    await failing;
  } catch (error) {
    return all(error);
  }
  return "it did not fail";
}

function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(20);
}

// Concurrently, because they mostly wait for brokers to start.
describe.runIf(support.supported)("a Kafka cluster for tests", { concurrent: true }, () => {
  test("keeps what it has acknowledged through SIGKILL and a new start", async (context) => {
    const kafka = await cluster(context, { brokers: 1 });
    await kafka.createTopic("kept", { partitions: 2, configs: { "retention.ms": 600_000 } });
    await produce(kafka.brokers, "kept", ["a", "b", "c"]);
    const first = kafka.pid(1)!;
    await kafka.kill(1);
    expect(isRunning(first)).toBe(false);
    expect(kafka.pid(1)).toBe(null);
    await kafka.restart(1);
    expect(kafka.pid(1)).not.toBe(first);
    await produce(kafka.brokers, "kept", ["d"]);
    expect(await consume(kafka.brokers, "kept", 4)).toEqual(["a", "b", "c", "d"]);

    await kafka.pause(1);
    const late = produce(kafka.brokers, "kept", ["e"]).then(() => "answered");
    expect(await Promise.race([late, sleep(1000, "silent")])).toBe("silent");
    kafka.resume(1);
    expect(await late).toBe("answered");

    const { folder } = kafka;
    const last = kafka.pid(1)!;
    await kafka.close();
    expect(existsSync(folder)).toBe(false);
    expect(isRunning(last)).toBe(false);
  });

  test("goes on with two brokers of three", async (context) => {
    const kafka = await cluster(context, { brokers: 3 });
    await kafka.createTopic("shared", { partitions: 3 });
    await produce(kafka.brokers, "shared", ["a"]);
    await kafka.kill(2);
    await produce(kafka.brokers, "shared", ["b", "c", "d", "e"]);
    expect(await consume(kafka.brokers, "shared", 5)).toEqual(["a", "b", "c", "d", "e"]);
    await kafka.restart(2);
    await produce(kafka.brokers, "shared", ["f"]);
    expect(await consume(kafka.brokers, "shared", 6)).toEqual(["a", "b", "c", "d", "e", "f"]);
  });

  test("lets in only who has the password and the authority, and to what it was granted", async (context) => {
    const kafka = await cluster(context, {
      brokers: 1,
      security: "sasl_tls",
      authorizer: true,
      users: ["writer", "guest"],
    });
    await kafka.createTopic("secret");
    const writer = kafka.access("writer");
    await kafka.allow("writer", "topic", "secret", ["read", "write", "describe"]);
    await kafka.allow("writer", "group", "*", ["read"]);
    await produce(kafka.brokers, "secret", ["a"], { login: writer });
    expect(await consume(kafka.brokers, "secret", 1, writer)).toEqual(["a"]);

    const refused = (login: Login): Promise<string> =>
      complaint(produce(kafka.brokers, "secret", ["b"], { login, retries: 0 }));
    expect(await refused({ ...writer, password: "wrong" })).toMatch(/authentication failed/i);
    expect(await refused(kafka.access("guest"))).toMatch(/authoriz/i);
    const stranger = await readFile(join(kafka.folder, "server.pem"), "utf8");
    expect(await refused({ ...writer, ca: stranger })).toMatch(/certificate/i);
  });

  test("shows an expired certificate to its clients", async (context) => {
    const kafka = await cluster(context, { brokers: 1, security: "sasl_tls", certificate: "expired" });
    await kafka.createTopic("any");
    const login = kafka.access();
    expect(await complaint(produce(kafka.brokers, "any", ["a"], { login, retries: 0 }))).toMatch(
      /certificate has expired/,
    );
  });

  test("leaves nothing behind when the process that started it is killed", async () => {
    const parent = spawn(process.execPath, [PROGRAM], { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = (await once(createInterface({ input: parent.stdout }), "line")) as [string];
    const { brokerPid, folder } = JSON.parse(line) as { brokerPid: number; folder: string };
    expect(isRunning(brokerPid)).toBe(true);
    expect(existsSync(folder)).toBe(true);
    parent.kill("SIGKILL");
    await until(() => !isRunning(brokerPid) && !existsSync(folder));
  });
});

test("what the cache holds is made once, by the first of many who ask, and again after a failure", async () => {
  const folder = await mkdtemp(join(tmpdir(), "isochrone-cache-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "made");
  const interrupted = async (partial: string): Promise<void> => {
    await mkdir(partial);
    throw new Error("no network");
  };
  await expect(makeOnce(path, interrupted)).rejects.toThrow("no network");
  let made = 0;
  const make = async (partial: string): Promise<void> => {
    await writeFile(partial, `made ${++made}`);
  };
  await Promise.all(Array.from({ length: 5 }, () => makeOnce(path, make)));
  expect(await readFile(path, "utf8")).toBe("made 1");
  expect(await readdir(folder)).toEqual(["made"]);
});
