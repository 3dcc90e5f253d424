import { expect, test } from "vitest";
import {
  CodedError,
  CredentialsError,
  DeadlineError,
  LifecycleError,
  ListenError,
  RUNTIME_ERROR_CODES,
  ServiceError,
  SettingsError,
} from "./errors.ts";

const errors = [
  new SettingsError(["a"]),
  new DeadlineError("x", 5),
  new ServiceError("x", [new Error("first")]),
  new ListenError("x", new Error("y")),
  new LifecycleError("stopped", "running"),
  new CredentialsError("x"),
];

test("every class has a code of its own, from the list, and its name", () => {
  expect(errors.map((error) => error.code).sort()).toEqual([...RUNTIME_ERROR_CODES].sort());
  for (const error of errors) {
    expect(error).toBeInstanceOf(CodedError);
    expect(error.name).toBe(error.constructor.name);
  }
});

test("the cause is kept and only a deadline and files that others replace are worth another try", () => {
  expect(errors[2]?.cause).toMatchObject({ message: "first" });
  expect(errors.filter((error) => error.retryable).map((error) => error.code)).toEqual([
    "deadline_exceeded",
    "credentials_unusable",
  ]);
});

test("several mistakes are counted in the message", () => {
  expect(new SettingsError(["a", "b"]).message).toBe("2 mistakes in the settings:\n  a\n  b");
});
