import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { ManualClock, MemoryLogger } from "../testing/index.ts";
import { Lifecycle } from "./lifecycle.ts";
import type { ProcessHost, StopSignal } from "./process-host.ts";
import { runService } from "./run-service.ts";
import type { RunServiceOptions } from "./run-service.ts";

const never = (): Promise<void> => new Promise(() => undefined);

class FakeHost implements ProcessHost {
  readonly exits: number[] = [];
  readonly signals = new Set<(signal: StopSignal) => void>();
  readonly fatals = new Set<(error: unknown) => void>();

  onSignal(listener: (signal: StopSignal) => void): () => void {
    this.signals.add(listener);
    return () => void this.signals.delete(listener);
  }

  onFatal(listener: (error: unknown) => void): () => void {
    this.fatals.add(listener);
    return () => void this.fatals.delete(listener);
  }

  exit(code: number): void {
    this.exits.push(code);
  }

  send(signal: StopSignal): void {
    for (const listener of this.signals) listener(signal);
  }
}

function build(options: Partial<RunServiceOptions> = {}) {
  const host = new FakeHost();
  const clock = new ManualClock();
  const logger = new MemoryLogger();
  const lifecycle = new Lifecycle();
  const log: string[] = [];
  lifecycle.onChange((state) => log.push(state));
  const service = { start: async () => void log.push("start"), stop: async () => void log.push("stop") };
  const drain = async (): Promise<void> => void log.push("drain");
  const code = runService({
    service,
    logger,
    clock,
    host,
    lifecycle,
    drain,
    drainDeadlineMs: 100,
    stopDeadlineMs: 50,
    ...options,
  });
  return { host, clock, logger, lifecycle, log, code };
}

test("a signal drains, then stops, and the code is 0", async () => {
  const { host, clock, log, code } = build();
  await clock.advance(0);
  expect(log).toEqual(["start", "running"]);
  host.send("SIGTERM");
  expect(await code).toBe(0);
  expect(log).toEqual(["start", "running", "draining", "drain", "stop", "stopped"]);
  expect(host.exits).toEqual([0]);
  expect(host.signals.size + host.fatals.size).toBe(0);
});

test("a second signal ends the process at once with the shell's code", async () => {
  const { host, clock } = build({ drain: never });
  await clock.advance(0);
  host.send("SIGTERM");
  host.send("SIGINT");
  expect(host.exits).toEqual([130]);
});

test("a drain and a stop that hang are ended by their deadlines with code 1", async () => {
  const { host, clock, code, logger } = build({
    drain: never,
    service: { start: () => Promise.resolve(), stop: never },
  });
  await clock.advance(0);
  host.send("SIGTERM");
  await clock.advance(99);
  expect(logger.events("error")).toEqual([]);
  await clock.advance(1);
  expect(logger.events("error")).toEqual(["draining failed"]);
  await clock.advance(50);
  expect(await code).toBe(1);
  expect(logger.events("error")).toEqual(["draining failed", "stopping failed"]);
});

test("a failed start is logged, stopped and gives code 1", async () => {
  const stops: string[] = [];
  const { code, logger, lifecycle } = build({
    service: { start: () => Promise.reject(new Error("no port")), stop: async () => void stops.push("stop") },
  });
  expect(await code).toBe(1);
  expect(logger.lines[0]).toMatchObject({
    event: "service failed to start",
    fields: { error: { message: "no port" } },
  });
  expect(stops).toEqual(["stop"]);
  expect(lifecycle.state).toBe("stopped");
});

test("a start that throws at once is a failed start", async () => {
  const { code } = build({
    service: {
      start: () => {
        throw new Error("broken");
      },
      stop: () => Promise.resolve(),
    },
  });
  expect(await code).toBe(1);
});

test("a signal while starting stops without ever running", async () => {
  const { host, clock, log, code } = build({ service: { start: never, stop: () => Promise.resolve() } });
  await clock.advance(0);
  host.send("SIGINT");
  expect(await code).toBe(0);
  expect(log).toEqual(["draining", "drain", "stopped"]);
});

test("an error that nobody caught stops the service with code 1", async () => {
  const { host, clock, code, logger } = build();
  await clock.advance(0);
  for (const listener of host.fatals) listener(new Error("lost"));
  expect(await code).toBe(1);
  expect(logger.events("error")).toEqual(["uncaught error"]);
});

const module = (path: string): string => JSON.stringify(fileURLToPath(new URL(path, import.meta.url)));

test.each(["json", "text"])("a real process whose %s lines nobody reads any more goes on", async (format) => {
  const program = `
    import { runService } from ${module("run-service.ts")};
    import { createLogger } from ${module("../log/create-logger.ts")};
    const logger = createLogger({ service: "child", level: "info", format: "${format}" });
    const tick = () => {
      logger.info("a line");
      process.stderr.write("tick ");
    };
    const timer = setInterval(tick, 5);
    const service = { start: async () => undefined, stop: async () => clearInterval(timer) };
    await runService({ service, logger });
  `;
  const child = spawn(process.execPath, ["--input-type=module-typescript", "--eval", program]);
  const running = Promise.withResolvers<void>();
  child.stdout.once("data", running.resolve);
  await running.promise;
  child.stdout.destroy();
  let after = "";
  child.stderr.on("data", (chunk: Buffer) => {
    after += chunk.toString();
    if (after.split("tick").length > 20) child.kill("SIGTERM");
  });
  const code = await new Promise((resolve) => child.once("exit", resolve));
  expect(after).not.toMatch(/[Ee]rror/);
  expect(code).toBe(0);
});

test("a real process drains on a real SIGTERM and exits with 0", async () => {
  const program = `
    import { runService } from ${module("run-service.ts")};
    import { createLogger } from ${module("../log/create-logger.ts")};
    const logger = createLogger({ service: "child", level: "info" });
    const timer = setInterval(() => undefined, 1000);
    const service = { start: async () => undefined, stop: async () => clearInterval(timer) };
    await runService({ service, logger, drain: async () => logger.info("drained") });
  `;
  const child = spawn(process.execPath, ["--input-type=module-typescript", "--eval", program]);
  let output = "";
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
    if (chunk.toString().includes("service running")) child.kill("SIGTERM");
  });
  const code = await new Promise((resolve) => child.once("exit", resolve));
  expect(output).toContain("drained");
  expect(code).toBe(0);
});
