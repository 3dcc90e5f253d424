import { expect, test } from "vitest";
import { parseSpeaker, speakerText } from "@isochrone/telemetry";
import { maySendAs, scopedSource, type Speaker } from "./speaker.ts";

const N1: Speaker = { kind: "node", node: "n1.example" };

test.each([
  "n1.example",
  "probe/n1.example",
  "collector/n1.example",
  "collector/n1.example#2",
  "n1.example#3",
])("a node's speaker sends as %s", (source) => expect(maySendAs(N1, source)).toBe(true));

test.each([
  "probe/n2",
  "n2",
  "probe/n1.example/n2",
  "probe/n2#n1.example",
  "n1.example/probe",
  "/n1.example",
  "probe/n1.example#",
  "probe/n1.example#0",
  "probe/n1.example#2#3",
  "probe/n1xexample",
])("a node's speaker does not send as %s", (source) => expect(maySendAs(N1, source)).toBe(false));

test("a service calls its sources as it likes, and none of them is anybody else's", () => {
  const otel: Speaker = { kind: "service", name: "otel" };
  expect(maySendAs(otel, "probe/n1.example")).toBe(true);
  expect(scopedSource(otel, "probe/n1.example")).toBe("service/otel|probe/n1.example");
  expect(scopedSource(N1, "probe/n1.example")).toBe("probe/n1.example");
});

test("a speaker is read as it is written", () => {
  for (const speaker of [N1, { kind: "service", name: "system:serviceaccount:otel:c" }] as const)
    expect(parseSpeaker(speakerText(speaker))).toEqual(speaker);
});
