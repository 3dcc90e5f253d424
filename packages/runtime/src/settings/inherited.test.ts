import { describe, expect, test } from "vitest";
import { describeSettings } from "./describe.ts";
import { loadSettings } from "./load.ts";
import { section } from "./section.ts";
import { inherited } from "./setting.ts";
import { text } from "./texts.ts";

describe("settings that are inherited", () => {
  const targetOf = { url: text({ default: "http://here", description: "Where to." }) };
  const client = section("client", targetOf, {});
  const sender = section("sender", { url: inherited(client, targetOf.url) }, {});
  const load = (sources: Parameters<typeof loadSettings>[1]): string =>
    loadSettings([sender], sources).sender.url;

  test("hold for each service that is given none of its own", () => {
    expect(load({ env: {} })).toBe("http://here");
    expect(load({ env: { ISOCHRONE_CLIENT_URL: "http://all" } })).toBe("http://all");
    expect(load({ env: {}, file: { client: { url: "http://all" } } })).toBe("http://all");
    const file = { client: { url: "http://all" }, sender: { url: "http://one" } };
    expect(load({ env: { ISOCHRONE_CLIENT_URL: "http://any" }, file })).toBe("http://one");
  });

  test("are named where somebody gave them", () => {
    expect(() => load({ env: {}, file: { client: { url: 7 } } })).toThrow(
      "client.url (ISOCHRONE_CLIENT_URL) must be text, got 7",
    );
    expect(() => load({ env: { ISOCHRONE_CLIENT_URI: "x" } })).toThrow(
      "ISOCHRONE_CLIENT_URI is not a setting (environment); did you mean ISOCHRONE_CLIENT_URL?",
    );
  });

  test("are shown once", () => {
    expect(describeSettings([client, sender]).match(/Where to/g)).toHaveLength(1);
  });

  test("must exist", () => {
    expect(() => inherited(client, text({ description: "Another." }))).toThrow(
      "section client must have the setting to inherit",
    );
  });
});
