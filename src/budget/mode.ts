/** What bounds the unpacking of a node: nothing, a number of bytes, or what the disk bears. */
export type BudgetMode =
  | { readonly kind: "auto" }
  | { readonly kind: "none" }
  | { readonly kind: "fixed"; readonly bytes: number };
