export class KernelError extends Error {
  readonly code: "missing_tool" | "tool_failed" | "not_understood";

  constructor(code: KernelError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "KernelError";
    this.code = code;
  }
}
