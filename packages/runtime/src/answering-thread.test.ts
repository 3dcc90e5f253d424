import { afterEach, expect, test } from "vitest";
import { AnsweringThread } from "./answering-thread.ts";
import { systemClock } from "./system.ts";

interface Question {
  readonly id: number;
  readonly text: string;
}
interface Answer {
  readonly id: number;
  readonly text: string;
}

const LONG_MS = 60_000;
const ON_MESSAGE = 'import { parentPort as port } from "node:worker_threads"; port.on("message", ';
const COUNTING = `let asked = 0; ${ON_MESSAGE} ({ id, text }) => {
  if (text === "die") process.exit(3);
  while (text === "hang");
  asked += 1;
  port.postMessage({ id: id - 1, text: "not this one" });
  port.postMessage({ id, text: text + asked });
});`;

const threads: AnsweringThread<Question, Answer>[] = [];
afterEach(async () => {
  for (const thread of threads.splice(0)) await thread.close();
});

function threadOf(code: string, maxHeapMb?: number): AnsweringThread<Question, Answer> {
  const thread = new AnsweringThread<Question, Answer>({
    url: new URL(`data:text/javascript,${encodeURIComponent(code)}`),
    name: "isochrone-test",
    clock: systemClock,
    ...(maxHeapMb === undefined ? {} : { maxHeapMb }),
  });
  threads.push(thread);
  return thread;
}

test("one thread answers all that it is asked, each with its own answer", async () => {
  const thread = threadOf(COUNTING);
  expect(thread.isRunning).toBe(false);
  expect(await thread.ask({ text: "a" }, LONG_MS)).toMatchObject({ kind: "answer", answer: { text: "a1" } });
  expect(thread.isRunning).toBe(true);
  expect(await thread.ask({ text: "b" }, LONG_MS)).toMatchObject({ kind: "answer", answer: { text: "b2" } });
});

test("what is transferred goes over, and isn't here any more", async () => {
  const text = new Uint8Array([1, 2]) as unknown as string;
  const thread = threadOf(`${ON_MESSAGE} ({ id, text }) => port.postMessage({ id, text: text.length }));`);
  const { buffer } = text as unknown as Uint8Array<ArrayBuffer>;
  expect(await thread.ask({ text }, LONG_MS, [buffer])).toMatchObject({ answer: { text: 2 } });
  expect(buffer.byteLength).toBe(0);
});

test("one thing at a time", async () => {
  const thread = threadOf(COUNTING);
  const first = thread.ask({ text: "a" }, LONG_MS);
  expect(await thread.ask({ text: "b" }, LONG_MS)).toEqual({ kind: "busy" });
  expect(await first).toMatchObject({ kind: "answer" });
});

test.each([
  ["dies", "die", LONG_MS, "died"],
  ["hangs", "hang", 200, "timeout"],
] as const)("a thread that %s is replaced with the next request", async (_, text, timeoutMs, kind) => {
  const thread = threadOf(COUNTING);
  await thread.ask({ text: "a" }, LONG_MS);
  expect(await thread.ask({ text }, timeoutMs)).toMatchObject({ kind });
  expect(thread.isRunning).toBe(false);
  expect(await thread.ask({ text: "b" }, LONG_MS)).toMatchObject({ answer: { text: "b1" } });
});

test("a thread that can't load, or outgrows its heap, died, and the cause says of what", async () => {
  expect(await threadOf('throw new Error("not today");').ask({ text: "a" }, LONG_MS)).toMatchObject({
    kind: "died",
    cause: { message: "not today" },
  });
  const growing = threadOf(`${ON_MESSAGE} () => { for (const all = []; ; ) all.push([...all]); });`, 16);
  expect(await growing.ask({ text: "a" }, LONG_MS)).toMatchObject({
    kind: "died",
    cause: { code: "ERR_WORKER_OUT_OF_MEMORY" },
  });
});

test("closed while it is asked, it says so", async () => {
  const thread = threadOf(COUNTING);
  const asked = thread.ask({ text: "hang" }, LONG_MS);
  await thread.close();
  expect(await asked).toEqual({ kind: "closed" });
});

test("what can't be posted rejects, and the next request is answered", async () => {
  const thread = threadOf(COUNTING);
  const text = (() => undefined) as unknown as string;
  await expect(thread.ask({ text }, LONG_MS)).rejects.toThrow(/could not be cloned/);
  expect(await thread.ask({ text: "a" }, LONG_MS)).toMatchObject({ answer: { text: "a1" } });
});
