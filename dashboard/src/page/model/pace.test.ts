import { expect, test } from "vitest";
import { askingWords, readAgainMs } from "./pace.ts";

test("a stream's graphs are read at most a tenth of the time, and after five seconds at the latest", () => {
  expect(readAgainMs(1000, 1010, true)).toBe(1500);
  expect(readAgainMs(1000, 1200, true)).toBe(3000);
  expect(readAgainMs(1000, 4000, true)).toBe(9000);
});

test("without a stream the server is asked each second, whatever an answer took", () => {
  expect(readAgainMs(1000, 1005, false)).toBe(2000);
  expect(readAgainMs(1000, 1900, false)).toBe(2000);
  expect(readAgainMs(1000, 4000, false)).toBe(4000);
});

test("who asks and gets no answer says so", () => {
  expect(askingWords(null, 9000)).toBe("asking every second instead");
  expect(askingWords(8000, 9000)).toBe("asking every second instead");
  expect(askingWords(3000, 9500)).toBe("waiting for an answer for 6 s");
});
