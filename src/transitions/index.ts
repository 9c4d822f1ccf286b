export { lifecycleDiagram } from './diagram.ts'
export { allOrderedPairs, defineLifecycle, type Lifecycle, type TransitionPair } from './lifecycle.ts'
export { CREATION, lifecycleSql, pairRowsSql } from './migration-sql.ts'
export {
  created,
  createdMany,
  lock,
  transition,
  transitionMany,
  type Act,
  type Creation,
  type Transitioned,
  type TransitionRequest,
} from './transition.ts'
