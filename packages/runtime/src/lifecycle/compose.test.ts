import { expect, test } from "vitest";
import { ServiceError } from "../errors.ts";
import type { Service } from "../service.ts";
import { ManualClock } from "../testing/index.ts";
import { composeServices } from "./compose.ts";

const never = (): Promise<void> => new Promise(() => undefined);

function build(names: readonly string[], faults: Readonly<Record<string, Partial<Service>>> = {}) {
  const log: string[] = [];
  const clock = new ManualClock();
  const parts = names.map((name) => ({
    name,
    service: {
      start: async () => {
        log.push(`start ${name}`);
        await faults[name]?.start?.();
      },
      stop: async () => {
        log.push(`stop ${name}`);
        await faults[name]?.stop?.();
      },
    },
  }));
  return {
    log,
    clock,
    service: composeServices(parts, { deadlines: { clock, startMs: 50, stopMs: 50 } }),
  };
}

test("services start in order and stop in reverse, once", async () => {
  const { log, service } = build(["a", "b"]);
  await service.start();
  await service.stop();
  await service.stop();
  expect(log).toEqual(["start a", "start b", "stop b", "stop a"]);
});

test("a failed start stops what was started, itself included, and nothing else", async () => {
  const { log, service } = build(["a", "b", "c"], {
    b: { start: () => Promise.reject(new Error("no port")) },
  });
  await expect(service.start()).rejects.toThrow("b must start and did not: no port");
  expect(log).toEqual(["start a", "start b", "stop b", "stop a"]);
});

test("a start that hangs is ended by its deadline", async () => {
  const { log, clock, service } = build(["a"], { a: { start: never } });
  const outcome = service.start().catch((error: unknown) => error);
  await clock.advance(50);
  expect(await outcome).toMatchObject({
    message: expect.stringContaining("start of a must end within 50 ms"),
  });
  expect(log).toEqual(["start a", "stop a"]);
});

test("a failure to stop keeps no other from stopping, and all failures are collected", async () => {
  const { log, clock, service } = build(["a", "b", "c"], {
    b: { stop: never },
    c: { stop: () => Promise.reject(new Error("disk full")) },
  });
  await service.start();
  const outcome = service.stop().catch((error: unknown) => error);
  await clock.advance(50);
  const error = await outcome;
  expect(log.slice(3)).toEqual(["stop c", "stop b", "stop a"]);
  expect(error).toBeInstanceOf(ServiceError);
  expect((error as ServiceError).failures).toHaveLength(2);
  expect((error as ServiceError).message).toContain(
    "c must stop and did not: disk full; b must stop and did not: ",
  );
});

test("a stop during the start leaves the later services unstarted", async () => {
  const gate = Promise.withResolvers<void>();
  const { log, service } = build(["a", "b"], { a: { start: () => gate.promise } });
  const starting = service.start();
  await service.stop();
  gate.resolve();
  await starting;
  expect(log).toEqual(["start a", "stop a"]);
});

test("a part that is composed itself gives its own parts, by their full names", async () => {
  const { log, service: inner } = build(["a", "b"], {
    b: { stop: () => Promise.reject(new Error("stuck")) },
  });
  const outer = composeServices([
    { name: "x", service: inner },
    { name: "y", service: {} },
  ]);
  expect(outer.parts.map(({ name }) => name)).toEqual(["x/a", "x/b", "y"]);
  await outer.start();
  await expect(outer.stop()).rejects.toThrow("x/b must stop and did not: stuck");
  expect(log).toEqual(["start a", "start b", "stop b", "stop a"]);
});
