import { describe, expect, it } from "vitest";
import { MAX_SEARCHED_ENTRIES } from "./imports.ts";
import { readText, topology } from "../testing/texts.ts";

const PROFILE = (name: string, key = "profile"): string =>
  `tosca_definitions_version: tosca_2_0\n${key}: ${name}\nnode_types: { Web: { derived_from: SoftwareComponent } }\n`;

async function namesOf(
  imported: string,
  others: Readonly<Record<string, string>>,
  profiles: readonly string[] = [],
): Promise<{ services: string[]; notes: readonly string[] }> {
  const text = topology("a: { type: t:Web }, b: { type: SoftwareComponent }", `imports: [ ${imported} ]`);
  const { services, notes } = await readText(text, others, { profiles });
  return { services: services.map(({ name }) => name), notes };
}

describe("an imported file", () => {
  it.each([
    ["a profile beside the template, by name", "{ profile: a.b:1.0, namespace: t }", "x.yaml", "a.b:1.0", []],
    ["a profile of 1.3, by its namespace", "{ file: a.b:1.0, namespace_prefix: t }", "x.yaml", "a.b:1.0", []],
    [
      "a profile in a folder beside it",
      "{ profile: a.b:1.0, namespace: t }",
      "profiles/q/x.yaml",
      "a.b:1.0",
      [],
    ],
    [
      "a profile in a given folder",
      "{ profile: a.b:1.0, namespace: t }",
      "lib/q/r/x.yaml",
      "a.b:1.0",
      ["lib"],
    ],
    [
      "a profile by the path of its name",
      "{ profile: a.b:1.0, namespace: t }",
      "lib/a/b/1.0/profile.yaml",
      "other:1",
      ["lib"],
    ],
    [
      "the end of a URL, beside it",
      "{ url: https://h.x/v1/q/t.yaml, namespace: t }",
      "t.yaml",
      "other:1",
      [],
    ],
    [
      "the end of a URL, in a folder",
      "{ url: https://h.x/v1/q/t.yaml, namespace: t }",
      "lib/q/t.yaml",
      "other:1",
      ["lib"],
    ],
    [
      "a path, in a folder",
      "{ file: ../up/q/t.yaml, namespace_prefix: t }",
      "lib/q/t.yaml",
      "other:1",
      ["lib"],
    ],
    [
      "a file of a repository",
      "{ file: t.yaml, repository: r, namespace_prefix: t }",
      "t.yaml",
      "other:1",
      [],
    ],
  ])("is found: %s", async (title, imported, path, name, profiles) => {
    const text = PROFILE(name, title.includes("namespace") ? "namespace" : "profile");
    expect(await namesOf(imported, { [path]: text }, profiles)).toEqual({ services: ["a", "b"], notes: [] });
  });

  it("may be missing: what it isn't needed for is read, and it is said", async () => {
    for (const imported of [
      "nowhere.yaml",
      "{ url: https://h.x/t.yaml, namespace: t }",
      "{ profile: a.b:1.0, namespace: t }",
    ]) {
      const { services, notes } = await namesOf(imported, {});
      expect(services).toEqual(["b"]);
      expect(notes).toEqual([
        expect.stringMatching(/ isn't there: its types are known by their names alone$/),
        "no services by their types, left out: a (t:Web)",
      ]);
    }
  });

  it("may need no version, and may import who imports it", async () => {
    const others = {
      "t.yaml": "imports: [ u.yaml ]\nnode_types: { Web: { derived_from: Base } }\n",
      "u.yaml":
        "imports: [ t.yaml ]\nnode_types: { Base: { derived_from: SoftwareComponent }, Other: { derived_from: Web } }\n",
    };
    const { services } = await readText(
      topology("a: { type: Web }, b: { type: Other }", "imports: [ t.yaml ]"),
      others,
    );
    expect(services.map(({ name }) => name)).toEqual(["a", "b"]);
  });

  it("with a type of another file's name is an error only where the type is used", async () => {
    const types = "node_types: { Web: { derived_from: SoftwareComponent } }\n";
    const others = { "t.yaml": types, "u.yaml": types };
    const head = "imports: [ t.yaml, u.yaml ]";
    expect((await readText(topology("b: { type: DBMS }", head), others)).services).toHaveLength(1);
    await expect(readText(topology("b: { type: Web }", head), others)).rejects.toThrow(
      "must not bring a second Web (node_types of t.yaml and u.yaml): give a prefix",
    );
  });

  it("is searched for in a bounded number of files", async () => {
    const many = Object.fromEntries(
      Array.from({ length: MAX_SEARCHED_ENTRIES + 1 }, (_, index) => [
        `lib/${index}.yaml`,
        PROFILE(`p${index}:1`),
      ]),
    );
    const { notes } = await namesOf("{ profile: none:1, namespace: t }", many, ["lib"]);
    expect(notes).toContain(`only ${MAX_SEARCHED_ENTRIES} files were searched for named profiles`);
  });
});
