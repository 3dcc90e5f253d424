import { isDeepStrictEqual } from "node:util";

import { StoreError } from "./errors.ts";
import { cloneJson, isPlainObject } from "./json.ts";
import type { JsonPatchOperation } from "./port.ts";

/** Applies RFC 6902 operations to a copy. Throws StoreError `conflict` for a failed test, else `invalid`. */
export function jsonPatched<T>(subject: string, value: T, operations: readonly JsonPatchOperation[]): T {
  let patched: unknown = cloneJson(value);
  for (const operation of operations) patched = new Step(subject, operation).on(patched);
  return patched as T;
}

class Step {
  readonly #subject: string;
  readonly #operation: JsonPatchOperation;

  constructor(subject: string, operation: JsonPatchOperation) {
    this.#subject = subject;
    this.#operation = operation;
  }

  on(root: unknown): unknown {
    const names = this.#names();
    const last = names.pop();
    if (last === undefined) return this.#onRoot(root);
    let parent = root;
    for (const name of names) parent = this.#member(parent, name);
    if (this.#operation.op === "test") this.#test(this.#find(parent, last));
    else if (Array.isArray(parent)) this.#onList(parent, last);
    else if (isPlainObject(parent)) this.#onMap(parent, last);
    else this.#refuse("leads through what is neither map nor list");
    return root;
  }

  #onRoot(root: unknown): unknown {
    if (this.#operation.op === "remove") return this.#refuse("would remove the whole object");
    if (this.#operation.op === "test") this.#test(root);
    return this.#operation.op === "test" ? root : cloneJson(this.#operation.value);
  }

  #onMap(map: Record<string, unknown>, name: string): void {
    const operation = this.#operation;
    if (operation.op === "remove") {
      // Replacing a missing value adds it, as in the API server's lenient library.
      this.#member(map, name);
      delete map[name];
    } else map[name] = cloneJson(operation.value);
  }

  #onList(elements: unknown[], name: string): void {
    const operation = this.#operation;
    if (operation.op === "add") {
      const index = name === "-" ? elements.length : this.#index(name, elements.length);
      elements.splice(index, 0, cloneJson(operation.value));
      return;
    }
    const index = this.#index(name, elements.length - 1);
    if (operation.op === "remove") elements.splice(index, 1);
    else elements[index] = cloneJson(operation.value);
  }

  #test(actual: unknown): void {
    const { op, path } = this.#operation;
    if (op !== "test" || isDeepStrictEqual(actual, cloneJson(this.#operation.value))) return;
    throw new StoreError("conflict", `${this.#subject}: testing value ${path} failed: test failed`);
  }

  #member(parent: unknown, name: string): unknown {
    const member = this.#find(parent, name);
    return member === undefined ? this.#refuse("isn't there") : member;
  }

  #find(parent: unknown, name: string): unknown {
    if (Array.isArray(parent)) return parent[this.#index(name, parent.length - 1)];
    return isPlainObject(parent) && Object.hasOwn(parent, name) ? parent[name] : undefined;
  }

  #index(name: string, max: number): number {
    const index = /^(0|[1-9]\d*)$/.test(name) ? Number(name) : Number.NaN;
    return index <= max ? index : this.#refuse("names no place of the list");
  }

  /** Unescapes the pointer: `~1` is a slash, `~0` a tilde. */
  #names(): string[] {
    const { path } = this.#operation;
    if (path === "") return [];
    if (!path.startsWith("/")) this.#refuse("must begin with a slash");
    return path
      .slice(1)
      .split("/")
      .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  }

  #refuse(rule: string): never {
    const { op, path } = this.#operation;
    throw new StoreError("invalid", `${this.#subject}: the JSON patch's ${op} of ${path} ${rule}`);
  }
}
