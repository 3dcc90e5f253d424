import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { manifestsOf } from "./manifests.ts";
import { readTosca } from "./read.ts";
import { failureOf, readText } from "./testing/texts.ts";

const DATA = join(import.meta.dirname, "../../../test/data/tosca");
const TWO = readFileSync(join(DATA, "two-services.clout.json"), "utf8");
// oxlint-disable-next-line typescript/no-explicit-any -- A Clout of whatever shape.
type Json = Record<string, any>;

function changed(change: (clout: Json, frontend: Json, backend: Json) => void): string {
  const clout = JSON.parse(TWO) as Json;
  const named = (name: string): Json =>
    Object.values<Json>(clout["vertexes"]).find(({ properties }) => properties.name === name)!;
  change(clout, named("frontend"), named("backend"));
  return JSON.stringify(clout, null, 1);
}

describe("a Clout", () => {
  it("gives the same objects as its template, but for what the compiler presets", async () => {
    const [template, ...clouts] = await Promise.all(
      ["messaging.yaml", "messaging.clout.json", "messaging.clout.yaml", "messaging.coerced.clout.yaml"].map(
        (file) => readTosca(join(DATA, file)),
      ),
    );
    const byName = (application: typeof template): Json =>
      Object.fromEntries(
        manifestsOf(application!).objects.map((object) => [`${object.kind} ${object.metadata.name}`, object]),
      );
    const wanted = byName(template);
    expect(Object.keys(wanted)).toHaveLength(12);
    for (const clout of clouts) {
      const objects = byName(clout);
      expect(objects).toMatchObject(wanted);
      expect(objects["Deployment rabbitmq"].spec).toMatchObject({
        replicas: 1,
        progressDeadlineSeconds: 600,
        strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" } },
      });
    }
  });

  it("with a target that isn't what the template named is refused", async () => {
    const wrong = changed(
      (_, frontend) => (frontend["properties"].requirements[0].nodeTemplateName = "other"),
    );
    expect(await failureOf(wrong)).toContain(
      "must be among edgesOut (the requirement route to other): compile the template with --resolve, or give the template itself",
    );
  });

  it.each([
    [
      "nothing resolved",
      changed((_, frontend) => (frontend["edgesOut"] = [])),
      "must be among edgesOut (the requirement route)",
    ],
    [
      "a dangling edge",
      changed((_, frontend) => (frontend["edgesOut"][0].targetID = "x")),
      /main\.yaml:\d+:\d+: vertexes\.\w+\.edgesOut\.0\.targetID must be the id of a node template's vertex, got "x"/,
    ],
    [
      "a priority that is none",
      changed((_, frontend) => (frontend["edgesOut"][0].properties.properties.priority.$primitive = "high")),
      'properties.priority must be a number of at least 0, got "high"',
    ],
    [
      "a call that is left",
      changed(
        (_, frontend) =>
          (frontend["edgesOut"][0].properties.properties.priority = {
            $functionCall: { name: "tosca.function.get_input" },
          }),
      ),
      "compile the template with --coerce, got a function's call",
    ],
    [
      "a nameless vertex",
      changed((_, frontend) => delete frontend["properties"].name),
      "must have properties.name",
    ],
    [
      "no vertexes",
      JSON.stringify({ vertexes: {} }),
      "must have a node template whose type is a Service, got none",
    ],
    [
      "vertexes of a wrong shape",
      JSON.stringify({ vertexes: [] }),
      "vertexes must be a map, got a list of 0",
    ],
    [
      "types that are parents of each other",
      changed(
        (_, frontend) =>
          (frontend["edgesOut"][0].properties.types = { A: { parent: "B" }, B: { parent: "A" } }),
      ),
      "nothing failed",
    ],
  ])("with %s is refused or read without it", async (_, text, message) => {
    expect(await failureOf(text)).toMatch(message);
  });

  it("that doesn't keep the names of targets is read with a warning", async () => {
    const nameless = changed((clout, _, backend) => {
      clout["vertexes"]["third"] = {
        ...backend,
        properties: { ...backend["properties"], name: "third", capabilities: {} },
      };
    });
    expect((await readText(TWO)).notes).toEqual([]);
    expect((await readText(nameless)).notes).toEqual([
      expect.stringContaining("check the channels, or give the template"),
    ]);
  });

  it("takes no inputs", async () => {
    expect(await failureOf(TWO, {}, { inputs: new Map([["a", "1"]]) })).toContain(
      "inputs must be given to the compiler",
    );
  });

  it("of 300 services is read", async () => {
    const big = changed((clout, frontend) => {
      for (let index = 0; index < 300; index++)
        clout["vertexes"][`v${index}`] = {
          ...frontend,
          properties: { ...frontend["properties"], name: `s${index}`, capabilities: {} },
        };
    });
    expect((await readText(big)).channels).toHaveLength(301);
  });
});
