// In place of Thrust's own, which is host code: reading and writing complex numbers by streams.
#pragma once
