import { expect, test } from "vitest";
import { isToken, withoutToken } from "./emulator-token.ts";

const token = "abcDEF-0123456789_xyz";

test.each([
  ["#/?emulator=" + token, "#/", token],
  [`#/pair/a/b?show=loss&emulator=${token}`, "#/pair/a/b?show=loss", token],
  ["#/network?show=loss", "#/network?show=loss", null],
  ["", "", null],
  ["#/?emulator=short", "#/", "short"],
  ["#/?emulator=%3Cscript%3Ealert(1)%3C/script%3E", "#/", "<script>alert(1)</script>"],
  ["#/?emulator=", "#/", ""],
])("of %s the token is taken out, whatever it is", (fragment, rest, found) => {
  expect(withoutToken(fragment)).toEqual({ fragment: rest, token: found });
  expect(isToken(found ?? "")).toBe(found === token);
});
