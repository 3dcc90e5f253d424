import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { ManualClock } from "@isochrone/runtime/testing";
import { expect, it, onTestFinished } from "vitest";
import { Questions } from "./questions.ts";

function child(): ChildProcess {
  const host = spawn(process.execPath, ["-e", "process.stdin.resume()"], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  onTestFinished(() => void host.kill("SIGKILL"));
  return host;
}

it("gives each question its own answer, whatever their order", async () => {
  const questions = new Questions<string>(child(), new ManualClock(), 1_000);
  const ids: number[] = [];
  const first = questions.ask((id) => ids.push(id));
  const second = questions.ask((id) => ids.push(id));
  questions.settle(ids[1]!, "second");
  questions.settle(ids[0]!, "first");
  expect(await Promise.all([first, second])).toEqual(["first", "second"]);
});

it("gives null after the time, and takes a late answer for nobody's", async () => {
  const clock = new ManualClock();
  const questions = new Questions<string>(child(), clock, 1_000);
  let asked = 0;
  const answer = questions.ask((id) => (asked = id));
  await clock.advance(1_000);
  expect(await answer).toBeNull();
  questions.settle(asked, "late");
  const next = questions.ask((id) => questions.settle(id, "in time"));
  expect(await next).toBe("in time");
  expect(clock.pending).toBe(0);
});

it("gives null at once when the process ends, and to every question afterwards", async () => {
  const clock = new ManualClock();
  const host = child();
  const questions = new Questions<string>(host, clock, 1_000);
  const answer = questions.ask(() => undefined);
  host.kill("SIGKILL");
  await once(host, "exit");
  expect(await answer).toBeNull();
  expect(await questions.ask(() => undefined)).toBeNull();
  expect(clock.pending).toBe(0);
});
