import { expect, test } from "vitest";
import { jsonReporter, lineReporter, yamlReporter } from "./reporters.ts";
import { screenReporter } from "./screen-reporter.ts";

const TOKEN = "secret-token-of-the-emulator";
const URLS = {
  page: "http://127.0.0.1:8080",
  extender: "http://127.0.0.1:8081",
  lab: "http://127.0.0.1:8082",
};
const WITH_CONTROLS = `${URLS.page}/#/?emulator=${TOKEN}`;

test("the address with the emulator's token is shown on a terminal alone: files and pipes may be read by others", () => {
  const said: string[] = [];
  const write = (text: string): number => said.push(text);
  screenReporter({ columns: 80, rows: 24, write }, () => "12:00:00").started(URLS, 1, WITH_CONTROLS);
  expect(said.join("")).toContain(WITH_CONTROLS);
  said.length = 0;
  lineReporter({ write }).started(URLS, 1, WITH_CONTROLS);
  jsonReporter(write).started(URLS, 1, WITH_CONTROLS);
  yamlReporter(write).started(URLS, 1, WITH_CONTROLS);
  expect(said.join("")).toContain(URLS.page);
  expect(said.join("")).not.toContain(TOKEN);
});
