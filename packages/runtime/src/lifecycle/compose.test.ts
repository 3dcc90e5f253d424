import { expect, test } from "vitest";
import { ServiceError } from "../errors.ts";
import type { Service } from "../service.ts";
import { ManualClock } from "../testing/index.ts";
import { composeServices } from "./compose.ts";

const never = (): Promise<void> => new Promise(() => undefined);

function build(names: readonly string[], faults: Readonly<Record<string, Partial<Service>>> = {}) {
  const log: string[] = [];
  const clock = new ManualClock();
  const services = names.map((name) => ({
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
    service: composeServices(services, { clock, startDeadlineMs: 50, stopDeadlineMs: 50 }),
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
  expect((error as ServiceError).message).toContain("disk full; stop of b must end within 50 ms");
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
