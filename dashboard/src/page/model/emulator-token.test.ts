import { expect, test } from "vitest";
import { withoutToken } from "./emulator-token.ts";

const token = "abcDEF-0123456789_xyz";

test.each([
  ["#/?emulator=" + token, "#/", token],
  [`#/pair/a/b?show=loss&emulator=${token}`, "#/pair/a/b?show=loss", token],
  ["#/network?show=loss", "#/network?show=loss", null],
  ["", "", null],
  ["#/?emulator=short", "#/", null],
  ["#/?emulator=%3Cscript%3Ealert(1)%3C/script%3E", "#/", null],
])("of %s the token is taken out", (fragment, rest, found) =>
  expect(withoutToken(fragment)).toEqual({ fragment: rest, token: found }),
);
