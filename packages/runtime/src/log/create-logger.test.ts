import { expect, test } from "vitest";
import { CodedError } from "../errors.ts";
import { Secret } from "../settings/secret.ts";
import { ManualClock } from "../testing/index.ts";
import { createLogger } from "./create-logger.ts";
import type { LoggerOptions } from "./create-logger.ts";

const START_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

function build(options: Partial<LoggerOptions> = {}) {
  const text: string[] = [];
  const clock = new ManualClock(START_MS);
  const destination = { write: (line: string) => text.push(line) };
  const logger = createLogger({ service: "probe", level: "info", destination, clock, ...options });
  const lines = (): Record<string, unknown>[] =>
    text.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { logger, text, lines, clock };
}

test("a line is one JSON object with level, ISO time, service, event and fields", () => {
  const { logger, text, lines } = build();
  logger.info("round done", { sent: 12 });
  expect(text[0]?.endsWith("}\n")).toBe(true);
  expect(lines()).toEqual([
    { level: "info", time: "2026-01-02T03:04:05.678Z", service: "probe", sent: 12, event: "round done" },
  ]);
});

test("lines below the level are not written", () => {
  const { logger, lines } = build({ level: "warn" });
  logger.debug("a");
  logger.info("b");
  logger.warn("c");
  logger.error("d");
  expect(lines().map((line) => line["event"])).toEqual(["c", "d"]);
});

test("a child adds its fields, and a field that names a part of the line keeps its value under another name", () => {
  const { logger, lines } = build();
  logger.child({ node: "a" }).child({ zone: "z" }).info("x", { level: 9, time: 1, event: "mine" });
  expect(lines()[0]).toMatchObject({
    node: "a",
    zone: "z",
    level: "info",
    level_: 9,
    time_: 1,
    event: "x",
    event_: "mine",
  });
});

test("a repeated warning is held back for the interval and counted", async () => {
  const { logger, lines, clock } = build();
  for (let i = 0; i < 5; i++) logger.warnOnce("source-a", "bad record", { i });
  logger.child({ x: 1 }).warnOnce("source-a", "bad record");
  logger.warnOnce("source-b", "bad record");
  await clock.advance(3_599_999);
  logger.warnOnce("source-a", "bad record");
  await clock.advance(1);
  logger.warnOnce("source-a", "bad record");
  expect(lines().map((line) => [line["i"], line["suppressed"]])).toEqual([
    [0, undefined],
    [undefined, undefined],
    [undefined, 6],
  ]);
});

test("an error is written with type, code, message, stack and its chain of causes", () => {
  const { logger, lines } = build();
  const inner = Object.assign(new Error("connect refused"), { code: "ECONNREFUSED" });
  logger.error("send failed", { error: new CodedError("bus_unreachable", "cannot send", { cause: inner }) });
  const error = lines()[0]?.["error"] as Record<string, unknown>;
  expect(error).toMatchObject({
    type: "CodedError",
    code: "bus_unreachable",
    message: "cannot send",
    cause: { type: "Error", code: "ECONNREFUSED", message: "connect refused" },
  });
  expect(error["stack"]).toContain("create-logger.test.ts");
});

test("a cause that is its own cause ends the chain", () => {
  const { logger, lines } = build();
  const error = new Error("loop");
  error.cause = error;
  logger.error("x", { error });
  expect(lines()[0]?.["error"]).toMatchObject({ message: "loop" });
});

test.each([
  "authorization",
  "password",
  "accessToken",
  "tlsKeyPem",
  "client_key",
  "apiKey",
  "Set-Cookie",
  "secret",
])("the text of a field called %s is not written, at any depth", (name) => {
  const { logger, text } = build();
  logger.info("x", { [name]: "hunter2", headers: { [name]: ["hunter2"] } });
  expect(text[0]).not.toContain("hunter2");
  expect(text[0]).toContain("[redacted]");
});

test("secret values and private keys are not written under any name", () => {
  const { logger, text } = build();
  const pem = "-----BEGIN EC PRIVATE KEY-----\nhunter2";
  logger.info("x", {
    a: new Secret("hunter2"),
    b: pem,
    error: new Error(pem),
    bytes: Buffer.from("hunter2"),
  });
  expect(text[0]).not.toContain("hunter2");
});

test("a number under a secret-looking name is data", () => {
  const { logger, lines } = build();
  logger.info("x", { tokenCount: 3 });
  expect(lines()[0]).toMatchObject({ tokenCount: 3 });
});

test("values that JSON can't hold do not break the line", () => {
  const { logger, lines } = build();
  const loop: Record<string, unknown> = {};
  loop["self"] = loop;
  const hundreds = Array.from({ length: 150 }, (_, index) => index);
  logger.info("x", {
    big: 5n,
    nan: Number.NaN,
    loop,
    fn: () => 1,
    map: new Map([["k", 1]]),
    date: new Date(0),
    hundreds,
  });
  expect(lines()[0]).toMatchObject({
    big: "5",
    nan: "NaN",
    loop: { self: "[circular]" },
    fn: "[function]",
    map: { k: 1 },
    date: "1970-01-01T00:00:00.000Z",
  });
  expect(lines()[0]?.["hundreds"]).toEqual([...hundreds.slice(0, 100), "[50 more]"]);
});

test("the text format is one short line per event, with the chain of an error's messages", () => {
  const { logger, text } = build({ format: "text" });
  logger.info("round done", { sent: 12, note: "two words" });
  logger.warn("send\nfailed", { error: new Error("cannot send", { cause: new Error("refused") }) });
  expect(text).toEqual([
    '03:04:05.678 INFO  probe round done sent=12 note="two words"\n',
    '03:04:05.678 WARN  probe send failed error="cannot send: refused"\n',
  ]);
});

const TRICKS = "a\u001b]0;title\u0007\u007f\u009b2J\u202eb\u200b\n";

test("in the text format nothing that a terminal acts on is written raw", () => {
  const { logger, text } = build({ format: "text" });
  logger
    .child({ [`x${TRICKS}`]: 1 })
    .warn(TRICKS, { node: TRICKS, error: new Error(TRICKS), deep: [TRICKS] });
  expect(text).toHaveLength(1);
  // eslint-disable-next-line no-control-regex
  expect(text[0]!.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u200b\u202e]/);
  expect(text[0]).toContain(String.raw`\u{1b}]0;title`);
});

test("in JSON neither, and the line says the same", () => {
  const { logger, text, lines } = build();
  logger.info("x", { node: TRICKS });
  // eslint-disable-next-line no-control-regex
  expect(text[0]!.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u200b\u202e]/);
  expect(lines()[0]?.["node"]).toBe(TRICKS);
});
