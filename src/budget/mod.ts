/** Engine: the weighted I/O budget of a node, fixed or adaptive. */
export { type BudgetState, IoBudget, type Share } from "./budget.ts";
export type { BudgetMode } from "./mode.ts";
