import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { expect, test } from "vitest";
import { AggregatorError } from "../ports/errors.ts";
import { StreamsKeeper } from "./streams-keeper.ts";

const JOB = {
  namespace: "site",
  name: "gate",
  phase: "Waiting",
  framesPerSecond: null,
  measuredFramesPerSecond: null,
  minThroughput: 2,
  limit: null,
  waits: { reason: "NoRoom", message: "no node has room" },
  tasks: [],
  flows: [],
};

function build(horizonMs = 3_600_000) {
  const clock = new ManualClock();
  const logger = new MemoryLogger();
  let answers: { status: number; body: unknown }[] = [{ status: 200, body: { jobs: [JOB] } }];
  const asked: string[] = [];
  const keeper = new StreamsKeeper({
    decisions: {
      fetch: async (path) => {
        asked.push(path);
        const { status, body } = answers.length > 1 ? answers.shift()! : answers[0]!;
        return { status, contentType: "application/json", body: Buffer.from(JSON.stringify(body)) };
      },
    },
    plans: { plans: async () => new Map(), applied: () => undefined },
    graphs: () => null,
    horizonMs,
    clock,
    logger,
  });
  const now = async () => keeper.now(new AbortController().signal);
  return {
    clock,
    keeper,
    logger,
    asked,
    now,
    answer: (...next: typeof answers) => {
      answers = next;
    },
  };
}

const code = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "none",
    (error: unknown) => (error instanceof AggregatorError ? error.code : String(error)),
  );

test("jobs are the leader's: one that doesn't lead is asked again", async () => {
  const { answer, asked, now } = build();
  answer({ status: 503, body: {} }, { status: 503, body: {} }, { status: 200, body: { jobs: [JOB] } });
  expect((await now()).jobs).toEqual([JOB]);
  expect(asked).toEqual(Array.from({ length: 3 }, () => "/api/v1/stream-jobs"));
});

test("a scheduler-plugin that runs no jobs is asked once", async () => {
  const { answer, asked, now } = build();
  answer({ status: 503, body: { code: "streams_off" } }, { status: 200, body: { jobs: [JOB] } });
  expect(await code(now())).toBe("streams_off");
  expect(asked).toHaveLength(1);
});

test("where nobody runs jobs, and for what can't be read, it says so", async () => {
  const { answer, now } = build();
  answer({ status: 503, body: {} });
  expect(await code(now())).toBe("streams_off");
  answer({ status: 404, body: {} });
  expect(await code(now())).toBe("streams_off");
  answer({ status: 200, body: { jobs: [{ ...JOB, phase: "Dancing" }] } });
  expect(await code(now())).toBe("decisions_bad_answer");
  answer({ status: 200, body: { jobs: [JOB, JOB] } });
  expect(await code(now())).toBe("decisions_bad_answer");
});

test("the last hour can be looked at, and what was before the first can't", async () => {
  const { answer, clock, keeper, logger } = build(60_000);
  const beganMs = clock.now();
  keeper.start();
  for (let at = 0; at < 3; at++) await clock.advance(10_000);
  answer({ status: 200, body: { jobs: [] } });
  for (let at = 0; at < 3; at++) await clock.advance(10_000);
  answer({ status: 503, body: {} });
  await clock.advance(10_000);
  expect(JSON.parse(keeper.at(beganMs + 30_000))).toMatchObject({ jobs: [JOB] });
  expect(JSON.parse(keeper.at(beganMs + 60_000))).toMatchObject({ jobs: [] });
  expect(() => keeper.at(beganMs + 1_000)).toThrow("no streams are stored for");
  await keeper.stop();
  expect(logger.lines).toEqual([]);
});
