// <filesystem>, the part about files and folders.
#ifndef _HATCH_HOST_DIRECTORIES_H
#define _HATCH_HOST_DIRECTORIES_H

#include <filesystem>

namespace std {
namespace filesystem {

typedef chrono::system_clock::time_point file_time_type;
enum class file_type : signed char { none, not_found = -1, regular = 1, directory, symlink, block, character, fifo, socket, unknown };
enum class perms : unsigned {
    none = 0,
    owner_read = 0400,
    owner_write = 0200,
    owner_exec = 0100,
    owner_all = 0700,
    group_read = 040,
    group_write = 020,
    group_exec = 010,
    group_all = 070,
    others_read = 04,
    others_write = 02,
    others_exec = 01,
    others_all = 07,
    all = 0777,
    set_uid = 04000,
    set_gid = 02000,
    sticky_bit = 01000,
    mask = 07777,
    unknown = 0xffff
};
enum class perm_options : unsigned { replace = 1, add = 2, remove = 4, nofollow = 8 };
enum class copy_options : unsigned short {
    none = 0,
    skip_existing = 1,
    overwrite_existing = 2,
    update_existing = 4,
    recursive = 8,
    copy_symlinks = 16,
    skip_symlinks = 32,
    directories_only = 64,
    create_symlinks = 128,
    create_hard_links = 256
};
enum class directory_options : unsigned char { none, follow_directory_symlink, skip_permission_denied };
#define _HATCH_FLAGS(type)                                                                                 \
    _HATCH_HD constexpr type operator|(type __a, type __b) { return type(unsigned(__a) | unsigned(__b)); } \
    _HATCH_HD constexpr type operator&(type __a, type __b) { return type(unsigned(__a) & unsigned(__b)); }
_HATCH_FLAGS(perms)
_HATCH_FLAGS(perm_options)
_HATCH_FLAGS(copy_options)
_HATCH_FLAGS(directory_options)
#undef _HATCH_FLAGS

struct space_info {
    unsigned long capacity, free, available;
};
class file_status {
   public:
    _HATCH_HD explicit file_status(file_type = file_type::none, perms = perms::unknown) noexcept;
#if _HATCH_CPP20
    _HATCH_HD friend bool operator==(const file_status&, const file_status&) noexcept;
#endif
    _HATCH_HD file_type type() const noexcept;
    _HATCH_HD perms permissions() const noexcept;

   private:
    file_type __type;
    perms __perms;
};
class filesystem_error : public system_error {
   public:
    _HATCH_HD filesystem_error(const string&, error_code);
    _HATCH_HD filesystem_error(const string&, const path&, error_code);
    _HATCH_HD filesystem_error(const string&, const path&, const path&, error_code);
    _HATCH_HD const path& path1() const noexcept;
    _HATCH_HD const path& path2() const noexcept;
    _HATCH_BYTES(16);
};

// Each throws, or is given where to put what went wrong.
#define _HATCH_ASKED(result, name, constness, ...)     \
    _HATCH_HD result name(__VA_ARGS__) constness;      \
    _HATCH_HD result name(__VA_ARGS__ _HATCH_CODE) constness;
#define _HATCH_CODE error_code&
class directory_entry {
   public:
    _HATCH_HD directory_entry() noexcept;
    _HATCH_HD explicit directory_entry(const filesystem::path&);
    _HATCH_COPIED(directory_entry);
    _HATCH_HD directory_entry& operator=(directory_entry&&) noexcept;
    _HATCH_HD void assign(const filesystem::path&);
    _HATCH_HD void refresh();
    _HATCH_HD const filesystem::path& path() const noexcept;
    _HATCH_HD operator const filesystem::path&() const noexcept;
    _HATCH_ASKED(bool, exists, const)
    _HATCH_ASKED(bool, is_directory, const)
    _HATCH_ASKED(bool, is_regular_file, const)
    _HATCH_ASKED(bool, is_symlink, const)
    _HATCH_ASKED(bool, is_other, const)
    _HATCH_ASKED(uintmax_t, file_size, const)
    _HATCH_ASKED(uintmax_t, hard_link_count, const)
    _HATCH_ASKED(file_time_type, last_write_time, const)
    _HATCH_ASKED(file_status, status, const)
    _HATCH_ASKED(file_status, symlink_status, const)
    _HATCH_HD bool operator==(const directory_entry&) const noexcept;
    _HATCH_HD bool operator!=(const directory_entry&) const noexcept;
    _HATCH_HD bool operator<(const directory_entry&) const noexcept;
#if _HATCH_CPP20
    _HATCH_HD strong_ordering operator<=>(const directory_entry&) const noexcept;
#endif
    _HATCH_BYTES(48);
};
#define _HATCH_ENTRIES(name, more)                                                       \
    class name {                                                                         \
       public:                                                                           \
        typedef directory_entry value_type;                                              \
        typedef ptrdiff_t difference_type;                                               \
        typedef const directory_entry* pointer;                                          \
        typedef const directory_entry& reference;                                        \
        typedef input_iterator_tag iterator_category;                                    \
        _HATCH_HD name() noexcept;                                                       \
        _HATCH_HD explicit name(const path&, directory_options = directory_options::none); \
        _HATCH_HD name(const path&, error_code&);                                        \
        _HATCH_HD name(const path&, directory_options, error_code&);                     \
        _HATCH_COPIED(name);                                                             \
        _HATCH_HD name& operator=(name&&) noexcept;                                      \
        _HATCH_HD const directory_entry& operator*() const;                              \
        _HATCH_HD const directory_entry* operator->() const;                             \
        _HATCH_HD name& operator++();                                                    \
        _HATCH_HD name operator++(int);                                                  \
        _HATCH_HD name& increment(error_code&);                                          \
        _HATCH_HD bool operator==(const name&) const;                                    \
        _HATCH_HD bool operator!=(const name&) const;                                    \
        more;                                                                            \
        _HATCH_BYTES(16);                                                                \
    };                                                                                   \
    _HATCH_HD name begin(name) noexcept;                                                 \
    _HATCH_HD name end(const name&) noexcept;
_HATCH_ENTRIES(directory_iterator, )
_HATCH_ENTRIES(recursive_directory_iterator, _HATCH_HD int depth() const; _HATCH_HD void pop();
               _HATCH_HD bool recursion_pending() const; _HATCH_HD void disable_recursion_pending();
               _HATCH_HD directory_options options() const)
#undef _HATCH_ENTRIES
#undef _HATCH_CODE
#define _HATCH_CODE , error_code&
_HATCH_ASKED(path, absolute, , const path&)
_HATCH_ASKED(path, canonical, , const path&)
_HATCH_ASKED(path, weakly_canonical, , const path&)
_HATCH_ASKED(path, relative, , const path&)
_HATCH_ASKED(path, relative, , const path&, const path&)
_HATCH_ASKED(path, proximate, , const path&)
_HATCH_ASKED(path, proximate, , const path&, const path&)
_HATCH_ASKED(path, read_symlink, , const path&)
_HATCH_ASKED(void, copy, , const path&, const path&)
_HATCH_ASKED(void, copy, , const path&, const path&, copy_options)
_HATCH_ASKED(bool, copy_file, , const path&, const path&)
_HATCH_ASKED(bool, copy_file, , const path&, const path&, copy_options)
_HATCH_ASKED(void, copy_symlink, , const path&, const path&)
_HATCH_ASKED(bool, create_directory, , const path&)
_HATCH_ASKED(bool, create_directories, , const path&)
_HATCH_ASKED(void, create_directory_symlink, , const path&, const path&)
_HATCH_ASKED(void, create_hard_link, , const path&, const path&)
_HATCH_ASKED(void, create_symlink, , const path&, const path&)
_HATCH_ASKED(bool, equivalent, , const path&, const path&)
_HATCH_ASKED(uintmax_t, file_size, , const path&)
_HATCH_ASKED(uintmax_t, hard_link_count, , const path&)
_HATCH_ASKED(file_time_type, last_write_time, , const path&)
_HATCH_ASKED(void, last_write_time, , const path&, file_time_type)
_HATCH_ASKED(void, permissions, , const path&, perms)
_HATCH_ASKED(bool, remove, , const path&)
_HATCH_ASKED(uintmax_t, remove_all, , const path&)
_HATCH_ASKED(void, rename, , const path&, const path&)
_HATCH_ASKED(void, resize_file, , const path&, uintmax_t)
_HATCH_ASKED(space_info, space, , const path&)
_HATCH_ASKED(file_status, status, , const path&)
_HATCH_ASKED(file_status, symlink_status, , const path&)
#define _HATCH_IS(name)                     \
    _HATCH_HD bool name(file_status) noexcept; \
    _HATCH_ASKED(bool, name, , const path&)
_HATCH_IS(exists)
_HATCH_IS(is_block_file)
_HATCH_IS(is_character_file)
_HATCH_IS(is_directory)
_HATCH_IS(is_fifo)
_HATCH_IS(is_other)
_HATCH_IS(is_regular_file)
_HATCH_IS(is_socket)
_HATCH_IS(is_symlink)
#undef _HATCH_IS
_HATCH_ASKED(bool, is_empty, , const path&)
_HATCH_HD path current_path();
_HATCH_HD path current_path(error_code&);
_HATCH_ASKED(void, current_path, , const path&)
_HATCH_HD path temp_directory_path();
_HATCH_HD path temp_directory_path(error_code&);
_HATCH_HD bool status_known(file_status) noexcept;
_HATCH_HD path u8path(const string&);
_HATCH_HD size_t hash_value(const path&) noexcept;
#undef _HATCH_ASKED
#undef _HATCH_CODE

}  // namespace filesystem
template <>
struct hash<filesystem::path> {
    _HATCH_HD size_t operator()(const filesystem::path&) const noexcept;
};
}  // namespace std

#endif
